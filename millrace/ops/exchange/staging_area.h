// StagingArea and StagingMap: tuples of tensors that wait on a device between steps: in the order
// in which they came, or under keys, a tuple whole or piece by piece.
//
// Both may be bounded by a number of tuples and by bytes: who puts in what has no room waits, and
// so does who takes or looks at what is not there. A cancellation or close() ends each wait.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/op/resource.h"
#include "millrace/ops/state/awaited.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

using StagedTuple = std::vector<Tensor>;

// How much there is room for; 0: any amount.
struct StagingBounds {
  size_t capacity = 0;      // tuples
  size_t memory_limit = 0;  // bytes

  // Errors: RESOURCE_EXHAUSTED for what can never have room.
  Status check(size_t bytes) const;
  bool has_bytes(size_t held, size_t more) const {
    return memory_limit == 0 || held + more <= memory_limit;
  }
  bool has_place(size_t tuples) const { return capacity == 0 || tuples < capacity; }
};

class StagingArea final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "staging area";

  StagingArea(StagingBounds bounds, std::string name);
  ~StagingArea() override;

  void put(StagedTuple tuple, Cancellation* cancellation, Done<void> done);
  void take(Cancellation* cancellation, Done<StagedTuple> done);
  // The tuple that will be the index-th to leave, which stays.
  void peek(size_t index, Cancellation* cancellation, Done<StagedTuple> done);
  int32_t size() const;
  void clear();

  std::string description() const override;
  void close(const Status& why) override;

 private:
  struct Staged {
    std::deque<StagedTuple> tuples;
    size_t bytes = 0;
  };

  const StagingBounds bounds_;
  const std::string name_;
  Awaited<Staged> staged_;
};

// What is put in or taken: the components of these indices, which grow.
struct StagedPieces {
  int64_t key = 0;
  std::vector<int64_t> indices;
  StagedTuple tensors;  // as many as indices
};

// Keys leave in order, which also does for a map that promises none.
class StagingMap : public Resource {
 public:
  static constexpr std::string_view kTypeName = "staging map";

  StagingMap(StagingBounds bounds, std::string name);
  ~StagingMap() override;

  // `width` is how many components the tuple has.
  // Errors: INVALID_ARGUMENT for indices that do not grow or are too large, for another width than
  // the tuple was begun with, and for a component that is there already.
  void put(StagedPieces pieces, size_t width, Cancellation* cancellation, Done<void> done);
  // What is taken is gone; a tuple ends with its last component.
  // Errors: as of put; INVALID_ARGUMENT for a component that was taken before.
  void take(int64_t key, std::vector<int64_t> indices, Cancellation* cancellation,
            Done<StagedPieces> done);
  void take_any(std::vector<int64_t> indices, Cancellation* cancellation, Done<StagedPieces> done);
  void peek(int64_t key, std::vector<int64_t> indices, Cancellation* cancellation,
            Done<StagedPieces> done);
  int32_t size() const;
  int32_t incomplete_size() const;
  void clear();

  std::string description() const override;
  void close(const Status& why) override;

 private:
  using Tuples = std::map<int64_t, StagedTuple>;  // components without a value where none is
  struct Staged {
    Tuples whole, incomplete;
    size_t bytes = 0;
  };
  enum class Leaves : uint8_t { yes, no };
  // Where what is wanted stands, or end().
  using Find = absl::AnyInvocable<Tuples::iterator(Tuples&)>;

  static Status check_indices(int64_t key, const std::vector<int64_t>& indices, size_t width);
  static Status put_some(Staged& staged, StagedPieces& pieces, size_t width);
  static Result<StagedPieces> pick(Staged& staged, Tuples::iterator at,
                                   const std::vector<int64_t>& indices, Leaves leaves);
  void get(Find find, std::vector<int64_t> indices, Leaves leaves, Cancellation* cancellation,
           Done<StagedPieces> done);

  const StagingBounds bounds_;
  const std::string name_;
  Awaited<Staged> staged_;
};

// Names of ordered maps and of others are apart, as in TensorFlow.
class OrderedStagingMap final : public StagingMap {
 public:
  using StagingMap::StagingMap;
};

}  // namespace millrace

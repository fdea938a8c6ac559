// Barrier: elements whose components come one by one, under a key, and leave once they are whole;
// on a device, shared by every graph that names it.
//
// Keys that come first in one insertion get a number together; whole elements leave in the order of
// these numbers. A closed barrier takes no new keys, but what the old ones still lack, unless it
// was closed with a cancellation: then what is not whole is dropped. A take that can't be satisfied
// any more ends with OUT_OF_RANGE, or with fewer elements if it may. What is refused changes
// nothing.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/op/resource.h"
#include "millrace/ops/state/awaited.h"
#include "millrace/ops/state/queue_core.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What two handles of one barrier must agree on: a type and a shape per component.
struct BarrierSpec {
  std::vector<DType> types;
  std::vector<Shape> shapes;
};

class Barrier final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "barrier";

  Barrier(BarrierSpec spec, std::string name);
  ~Barrier() override;

  const BarrierSpec& spec() const { return spec_; }
  // Errors: INVALID_ARGUMENT saying how `other` differs.
  Status check_same(const BarrierSpec& other) const;

  // A value of one component, which must exist and be of that type, for each key of a vector of
  // strings. Errors: INVALID_ARGUMENT for another shape, and for a key that has a value there;
  // CANCELLED if the barrier was closed and a key is new.
  Status insert(const Tensor& keys, size_t component, const Tensor& values);
  // `count` >= 0 elements, oldest first: their numbers, their keys, and each component, stacked.
  void take(int64_t count, Shortfall shortfall, Cancellation* cancellation,
            Done<QueueElement> done);
  // Errors: CANCELLED if it was closed before and there is nothing more to cancel.
  Status close_barrier(PendingEnqueues pending);
  int32_t ready_size() const;
  int32_t incomplete_size() const;

  std::string description() const override;
  void close(const Status& why) override;

 private:
  struct Incomplete {
    int64_t number = 0;
    std::vector<Tensor> components;  // without a value where none came yet
    size_t missing = 0;
  };
  struct Gathered {
    int64_t next_number = std::numeric_limits<int64_t>::min();
    absl::flat_hash_map<std::string, Incomplete> incomplete;
    std::multimap<int64_t, QueueElement> ready;  // number, key, components
    bool is_closed = false;
    bool is_cancelled = false;
  };

  Status check_values(const Tensor& keys, size_t component, const Tensor& values) const;
  Status check_keys(const Gathered& gathered, std::span<const std::string> keys,
                    size_t component) const;
  // Nothing while the take has to wait.
  std::optional<Result<QueueBatch>> try_take(Gathered& gathered, size_t count, Shortfall shortfall,
                                             bool is_first_try) const;
  Status too_few(size_t asked, size_t there) const;

  const BarrierSpec spec_;
  const std::string name_;
  Awaited<Gathered> gathered_;
};

}  // namespace millrace

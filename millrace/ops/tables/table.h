// Table: a hash table on a device, shared by every graph that names it.
//
//   fixed     filled once, from tensors or a file, and only looked up from then on
//   changing  filled, changed and emptied at any time
//   dense     as changing, but two keys are set aside and may not be used
//
// Keys and values are elements of tensors, or runs of elements of a fixed shape. Errors are
// INVALID_ARGUMENT unless said, in TensorFlow's words. Thread-safe: any number look up at once.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "millrace/base/shared_mutex.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/resource.h"
#include "millrace/ops/tables/table_rows.h"

namespace millrace {

// What two handles of one table must agree on.
struct TableSpec {
  enum class Kind : uint8_t { fixed, changing, dense };
  Kind kind = Kind::fixed;
  DType key = DType::invalid, value = DType::invalid;
  Shape key_shape, value_shape;
  // Set aside, of a dense one; the second is missing in the form of before TensorFlow 1.0.
  std::optional<Tensor> empty_key, deleted_key;
  // Of a dense one: how many buckets it begins with, and how full they may become.
  int64_t buckets = 4;
  float most_full = 0.8F;
};

// Of tensors that a fixed table is filled with; a file may have no lines.
Status check_not_empty(const Tensor& keys);

class Table final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "hash_table";

  Table(TableSpec spec, std::string name);

  const TableSpec& spec() const { return spec_; }
  Status check_same(const TableSpec& other) const;

  // The values of keys; those of `fallback`, one for all or one for each (of which a dense one
  // takes the first), where there is no key. Errors: FAILED_PRECONDITION if it is fixed and was not
  // filled.
  Result<Tensor> find(const Tensor& keys, const Tensor& fallback, CancelProbe& probe) const;
  // Of a fixed one. A second time, with as many entries, whatever they are, changes nothing.
  // Errors: FAILED_PRECONDITION for other entries, or one key with two values.
  Status fill(const Tensor& keys, const Tensor& values);
  // Of the others. Errors: UNIMPLEMENTED if it is fixed.
  Status insert(const Tensor& keys, const Tensor& values);
  Status remove(const Tensor& keys);
  // All entries; a fixed one is filled, and not with none. A dense one takes buckets, too.
  Status replace(const Tensor& keys, const Tensor& values);
  // All keys and values there are; of a dense one its buckets (buckets.h), those that hold nothing
  // with the empty key and zeros. Errors: ABORTED if it is fixed and was not filled.
  Result<std::pair<Tensor, Tensor>> exported() const;
  int64_t size() const;

  std::string description() const override;

 private:
  Result<std::pair<Tensor, Tensor>> entries() const MR_REQUIRES_SHARED(mutex_);
  Result<std::pair<Tensor, Tensor>> bucketed() const MR_REQUIRES_SHARED(mutex_);
  TableRows no_rows() const;
  Status check_types(const Tensor& keys, const Tensor& values) const;
  // The shape of what stands before the keys' own, one value for each.
  Result<Shape> lead_of(const Tensor& keys) const;
  Result<Shape> values_shape(const Tensor& keys) const;
  Status check_entries(const Tensor& keys, const Tensor& values) const;
  bool are_buckets(const Tensor& keys, const Tensor& values) const;
  // Of what a table that is filled already is filled with.
  Status check_as_many(size_t count) const MR_REQUIRES_SHARED(mutex_);
  Status check_usable(std::string_view key) const;
  Status refused(std::string_view what) const;

  const TableSpec spec_;
  const std::string name_;
  std::optional<std::string> empty_, deleted_;  // the bytes of keys set aside; constant
  mutable SharedMutex mutex_;
  TableRows rows_ MR_GUARDED_BY(mutex_);
  bool is_filled_ MR_GUARDED_BY(mutex_) = false;
  int64_t num_buckets_ MR_GUARDED_BY(mutex_);  // of a dense one, when it is exported
};

}  // namespace millrace

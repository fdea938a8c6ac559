#include "millrace/ops/tables/table.h"

#include "millrace/base/str_cat.h"
#include "millrace/ops/tables/buckets.h"

namespace millrace {
namespace {

Result<Shape> joined(std::span<const int64_t> lead, const Shape& tail) {
  Shape::Dims dims(lead.begin(), lead.end());
  dims.insert(dims.end(), tail.dims().begin(), tail.dims().end());
  return Shape::create(dims);
}

Shape with_axis(const Shape& shape) { return shape.rank() == 0 ? Shape{1} : shape; }

// Of one element of a plain key or value, for messages.
std::string shown(const Tensor& tensor, size_t row) {
  if (tensor.dtype() == DType::string) return tensor.flat<std::string>()[row];
  const auto at = static_cast<int64_t>(row);
  const auto one = tensor.rows(at, at + 1);
  if (!one.ok()) return "?";
  const std::string text = one->to_string();
  const size_t space = text.find(' ');
  return space == std::string::npos ? text : text.substr(space + 1);
}

}  // namespace

Table::Table(TableSpec spec, std::string name)
    : spec_(std::move(spec)),
      name_(std::move(name)),
      rows_(no_rows()),
      num_buckets_(spec_.buckets) {
  const TableRows rows = no_rows();
  std::string room;
  if (spec_.empty_key) empty_ = std::string(rows.key_of(*spec_.empty_key, 0, room));
  if (spec_.deleted_key) deleted_ = std::string(rows.key_of(*spec_.deleted_key, 0, room));
}

TableRows Table::no_rows() const {
  return {spec_.key, spec_.key_shape.num_elements(), spec_.value, spec_.value_shape.num_elements()};
}

Status Table::check_same(const TableSpec& other) const {
  if (other.kind != spec_.kind || other.key_shape != spec_.key_shape ||
      other.value_shape != spec_.value_shape) {
    return invalid("Table '", name_, "' is of another kind, or has other shapes: its keys are ",
                   spec_.key_shape.to_string(), " and its values ", spec_.value_shape.to_string(),
                   ", not ", other.key_shape.to_string(), " and ", other.value_shape.to_string());
  }
  if (other.key == spec_.key && other.value == spec_.value) return {};
  return invalid("Conflicting key/value dtypes ", dtype_name(other.key), "->",
                 dtype_name(other.value), " with ", dtype_name(spec_.key), "-",
                 dtype_name(spec_.value), " for table ", name_);
}

Result<Tensor> Table::find(const Tensor& keys, const Tensor& fallback, CancelProbe& probe) const {
  MR_TRY(check_types(keys, fallback));
  MR_ASSIGN(const Shape lead, lead_of(keys));
  MR_ASSIGN(const Shape shape, joined(lead.dims(), spec_.value_shape));
  const bool is_dense = spec_.kind == TableSpec::Kind::dense;
  const bool is_for_each = fallback.shape() == shape;
  if (fallback.shape() != spec_.value_shape && !is_for_each) {
    return invalid("Expected shape ", spec_.value_shape.to_string(), " or ", shape.to_string(),
                   " for default value, got ", fallback.shape().to_string());
  }
  MR_ASSIGN(Tensor values, Tensor::allocate(spec_.value, shape));
  const auto count = static_cast<size_t>(lead.num_elements());
  const auto size = static_cast<size_t>(spec_.value_shape.num_elements());
  std::string room;
  ReaderLock lock(mutex_);
  if (spec_.kind == TableSpec::Kind::fixed && !is_filled_)
    return failed_precondition("Table not initialized.");
  for (size_t i = 0; i < count; ++i) {
    const std::string_view key = rows_.key_of(keys, i, room);
    MR_TRY(check_usable(key));
    if (const auto row = rows_.find(key)) {
      rows_.values().copy_to(*row, values, i);
    } else {
      // Of one for each a dense table of TensorFlow gives the first.
      copy_row(fallback, is_for_each && !is_dense ? i : 0, values, i, size);
    }
    if (!probe.go_on(1)) return probe.status();
  }
  return values;
}

Status Table::fill(const Tensor& keys, const Tensor& values) {
  if (spec_.kind != TableSpec::Kind::fixed)
    return invalid("Table '", name_, "' is not initializable");
  MR_TRY(check_entries(keys, values));
  const auto count = static_cast<size_t>(keys.num_elements());
  {
    ReaderLock lock(mutex_);
    if (is_filled_) return check_as_many(count);
  }
  TableRows filled = no_rows();
  std::string room;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view key = filled.key_of(keys, i, room);
    const auto row = filled.find(key);
    if (row && !filled.values().equals(*row, values, i)) {
      MR_ASSIGN(Tensor before, Tensor::allocate(spec_.value, {1}));
      filled.values().copy_to(*row, before, 0);
      return failed_precondition("HashTable has different value for same key. Key ", shown(keys, i),
                                 " has ", shown(before, 0), " and trying to add value ",
                                 shown(values, i));
    }
    if (!row) filled.put(key, values, i);
  }
  WriterLock lock(mutex_);
  if (is_filled_) return check_as_many(count);
  rows_ = std::move(filled);
  is_filled_ = true;
  return {};
}

Status Table::check_as_many(size_t count) const {
  if (count == rows_.size()) return {};
  return failed_precondition("Table was already initialized with different data.");
}

Status Table::insert(const Tensor& keys, const Tensor& values) {
  MR_TRY(check_entries(keys, values));
  if (spec_.kind == TableSpec::Kind::fixed) return refused("Insert");
  MR_ASSIGN(const Shape lead, lead_of(keys));
  const auto count = static_cast<size_t>(lead.num_elements());
  std::string room;
  WriterLock lock(mutex_);
  // All or nothing: what may not be used is seen first.
  for (size_t i = 0; i < count; ++i) MR_TRY(check_usable(rows_.key_of(keys, i, room)));
  // As if all were new, like TensorFlow.
  num_buckets_ =
      buckets_for(static_cast<int64_t>(rows_.size() + count), num_buckets_, spec_.most_full);
  for (size_t i = 0; i < count; ++i) rows_.put(rows_.key_of(keys, i, room), values, i);
  return {};
}

Status Table::remove(const Tensor& keys) {
  if (keys.dtype() != spec_.key) {
    return invalid("Key must be type ", dtype_name(spec_.key), " but got ",
                   dtype_name(keys.dtype()));
  }
  MR_ASSIGN(const Shape lead, lead_of(keys));
  if (spec_.kind == TableSpec::Kind::fixed) return refused("Remove");
  const auto count = static_cast<size_t>(lead.num_elements());
  std::string room;
  WriterLock lock(mutex_);
  for (size_t i = 0; i < count; ++i) MR_TRY(check_usable(rows_.key_of(keys, i, room)));
  for (size_t i = 0; i < count; ++i) rows_.remove(rows_.key_of(keys, i, room));
  return {};
}

Status Table::replace(const Tensor& keys, const Tensor& values) {
  // TensorFlow's own tables are filled so since its version 1.13.
  if (spec_.kind == TableSpec::Kind::fixed) {
    MR_TRY(check_not_empty(keys));
    return fill(keys, values);
  }
  int64_t num_rows = 0;
  if (are_buckets(keys, values)) {
    num_rows = keys.shape().dim(0);
  } else {
    MR_TRY(check_entries(keys, values));
    MR_ASSIGN(const Shape lead, lead_of(keys));
    num_rows = lead.num_elements();
  }
  const auto count = static_cast<size_t>(num_rows);
  std::string room;
  WriterLock lock(mutex_);
  rows_.clear();
  for (size_t i = 0; i < count; ++i) {
    const std::string_view key = rows_.key_of(keys, i, room);
    // Of buckets some hold nothing, or what was deleted.
    if (check_usable(key).ok()) rows_.put(key, values, i);
  }
  num_buckets_ = buckets_for(static_cast<int64_t>(rows_.size()),
                             can_be_buckets(num_rows) ? num_rows : spec_.buckets, spec_.most_full);
  return {};
}

Status check_not_empty(const Tensor& keys) {
  if (keys.num_elements() > 0) return {};
  return invalid("keys and values cannot be empty: a table is filled with one entry or more");
}

Result<std::pair<Tensor, Tensor>> Table::exported() const {
  ReaderLock lock(mutex_);
  if (spec_.kind == TableSpec::Kind::fixed && !is_filled_)
    return aborted("Table is not initialized.");
  return spec_.kind == TableSpec::Kind::dense ? bucketed() : entries();
}

Result<std::pair<Tensor, Tensor>> Table::bucketed() const {
  MR_ASSIGN(const auto all, entries());
  const int64_t lead[] = {num_buckets_};
  MR_ASSIGN(const Shape keys_shape, joined(lead, with_axis(spec_.key_shape)));
  MR_ASSIGN(const Shape shape, joined(lead, with_axis(spec_.value_shape)));
  MR_ASSIGN(Tensor keys, Tensor::allocate(spec_.key, keys_shape));
  MR_ASSIGN(Tensor values, Tensor::zeros(spec_.value, shape));
  const auto size = static_cast<size_t>(spec_.key_shape.num_elements());
  for (size_t i = 0; i < static_cast<size_t>(num_buckets_); ++i)
    copy_row(*spec_.empty_key, 0, keys, i, size);
  const std::vector<size_t> places = bucket_places(all.first, size, num_buckets_);
  for (size_t i = 0; i < places.size(); ++i) {
    copy_row(all.first, i, keys, places[i], size);
    rows_.values().copy_to(i, values, places[i]);
  }
  return std::pair(std::move(keys), std::move(values));
}

Result<std::pair<Tensor, Tensor>> Table::entries() const {
  const int64_t lead[] = {static_cast<int64_t>(rows_.size())};
  MR_ASSIGN(const Shape keys_shape, joined(lead, spec_.key_shape));
  MR_ASSIGN(const Shape shape, joined(lead, spec_.value_shape));
  MR_ASSIGN(Tensor keys, Tensor::allocate(spec_.key, keys_shape));
  MR_ASSIGN(Tensor values, Tensor::allocate(spec_.value, shape));
  for (size_t i = 0; i < rows_.size(); ++i) {
    rows_.copy_key_to(i, keys);
    rows_.values().copy_to(i, values, i);
  }
  return std::pair(std::move(keys), std::move(values));
}

int64_t Table::size() const {
  ReaderLock lock(mutex_);
  return static_cast<int64_t>(rows_.size());
}

std::string Table::description() const {
  return str_cat("table '", name_, "': ", size(), " entries ", dtype_name(spec_.key), " -> ",
                 dtype_name(spec_.value));
}

Status Table::check_types(const Tensor& keys, const Tensor& values) const {
  if (keys.dtype() != spec_.key) {
    return invalid("Key must be type ", dtype_name(spec_.key), " but got ",
                   dtype_name(keys.dtype()));
  }
  if (values.dtype() != spec_.value) {
    return invalid("Value must be type ", dtype_name(spec_.value), " but got ",
                   dtype_name(values.dtype()));
  }
  return {};
}

Result<Shape> Table::lead_of(const Tensor& keys) const {
  const auto dims = keys.shape().dims();
  const auto own = spec_.key_shape.dims();
  const bool ends_with =
      dims.size() >= own.size() && std::equal(own.rbegin(), own.rend(), dims.rbegin());
  if (!ends_with) {
    return invalid("Expected key shape ", spec_.key_shape.to_string(),
                   " of the table at the end of the keys' shape, got ", keys.shape().to_string());
  }
  MR_ASSIGN(Shape lead, Shape::create(dims.first(dims.size() - own.size())));
  // A dense one takes a key, or a vector of them.
  const int64_t count = dims.empty() ? 1 : dims[0];
  if (spec_.kind == TableSpec::Kind::dense && lead.num_elements() != count) {
    MR_ASSIGN(const Shape expected, joined({&count, 1}, spec_.key_shape));
    return invalid("Expected key shape ", expected.to_string(), ", got ", keys.shape().to_string());
  }
  return lead;
}

Result<Shape> Table::values_shape(const Tensor& keys) const {
  MR_ASSIGN(const Shape lead, lead_of(keys));
  return joined(lead.dims(), spec_.value_shape);
}

Status Table::check_entries(const Tensor& keys, const Tensor& values) const {
  MR_TRY(check_types(keys, values));
  MR_ASSIGN(const Shape shape, values_shape(keys));
  if (values.shape() == shape) return {};
  return invalid("Expected shape ", shape.to_string(), " for value, got ",
                 values.shape().to_string());
}

// One bucket a row, with an axis of 1 for keys or values that are scalars.
bool Table::are_buckets(const Tensor& keys, const Tensor& values) const {
  if (spec_.kind != TableSpec::Kind::dense || keys.dtype() != spec_.key ||
      values.dtype() != spec_.value || keys.shape().rank() == 0)
    return false;
  const int64_t lead[] = {keys.shape().dim(0)};
  const auto wanted_keys = joined(lead, with_axis(spec_.key_shape));
  const auto wanted = joined(lead, with_axis(spec_.value_shape));
  return wanted_keys.ok() && wanted.ok() && keys.shape() == *wanted_keys &&
         values.shape() == *wanted;
}

Status Table::check_usable(std::string_view key) const {
  if (spec_.kind != TableSpec::Kind::dense) return {};
  if (empty_ && *empty_ == key) return invalid("Using the empty_key as a table key is not allowed");
  if (deleted_ && *deleted_ == key)
    return invalid("Using the deleted_key as a table key is not allowed");
  return {};
}

Status Table::refused(std::string_view what) const {
  return unimplemented(what, " not supported by InitializableLookupTable implementations");
}

}  // namespace millrace

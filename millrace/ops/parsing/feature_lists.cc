#include "millrace/ops/parsing/feature_lists.h"

#include <algorithm>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

std::string named(std::string_view name) {
  return str_cat("Name: ", name.empty() ? "<unknown>" : name, ", ");
}

// The field in which such a feature has its values.
std::string_view list_name(DType dtype) {
  if (dtype == DType::f32) return "float_list";
  return dtype == DType::i64 ? "int64_list" : "bytes_list";
}

Status append_step(const ListedColumn& column, std::string_view bytes, size_t index,
                   std::string_view name, ListedSteps& steps) {
  MR_ASSIGN(const Feature feature, Feature::read(bytes).with(column.key));
  if (feature.dtype != column.dtype && feature.dtype != DType::invalid) {
    return invalid(named(name), "Feature list: ", column.key, ", Index: ", index,
                   ".  Data types don't match. Expected type: ", dtype_name(column.dtype),
                   "  Feature is: ", list_name(feature.dtype));
  }
  MR_ASSIGN(const size_t size, feature.append_to(steps.values));
  const auto count = static_cast<int64_t>(size);
  steps.longest_step = std::max(steps.longest_step, count);
  steps.step_ends.push_back(static_cast<int64_t>(steps.values.size()));
  return {};
}

// Of the steps from `first` on, which are of one list. What TensorFlow says of a whole list that
// can't be steps of the shape, and of a step, is both said.
Status check_sizes(const ListedColumn& column, int64_t first, std::string_view name,
                   const ListedSteps& steps) {
  const int64_t size = column.shape->num_elements();
  const int64_t all = static_cast<int64_t>(steps.values.size()) - steps.first_value(first);
  const auto number = static_cast<int64_t>(steps.step_ends.size());
  for (int64_t step = first; step < number; ++step) {
    const int64_t count = steps.step_ends[static_cast<size_t>(step)] - steps.first_value(step);
    if (count == size) continue;
    Shape::Dims dims{kUnknownDim};
    dims.insert(dims.end(), column.shape->dims().begin(), column.shape->dims().end());
    MR_ASSIGN(const PartialShape whole, PartialShape::create(dims));
    const std::string of_list =
        size > 0 && all % size == 0
            ? std::string()
            : str_cat(".  Feature list '", column.key, "' has an unexpected number of values.  ",
                      "Total values size: ", all,
                      " is not consistent with output shape: ", whole.to_string());
    return invalid(named(name), "Key: ", column.key, ", Index: ", step - first, ".  Number of ",
                   dtype_name(column.dtype), " values != expected.  values size: ", count,
                   " but output shape: ", column.shape->to_string(), of_list);
  }
  return {};
}

}  // namespace

Result<ListedBytes> listed_bytes(std::string_view sequence) {
  ListedBytes found;
  MR_ASSIGN(const auto maps, messages_in(sequence, 2));
  for (const std::string_view map : maps) {
    MR_TRY(each_entry(map, [&](std::string_view key, std::string_view value) -> Status {
      found[key] = value;
      return {};
    }));
  }
  return found;
}

Status append_list(const ListedColumn& column, const ListedBytes& lists, std::string_view name,
                   CancelProbe& probe, ListedSteps& steps) {
  const auto place = lists.find(column.key);
  if (place == lists.end() && !column.may_be_missing) {
    return invalid(named(name), "Feature list '", column.key,
                   "' is required but could not be found.  Did you mean to include it in "
                   "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?");
  }
  MR_ASSIGN(const auto features,
            messages_in(place == lists.end() ? std::string_view() : place->second, 1));
  for (size_t i = 0; i < features.size(); ++i) {
    MR_TRY(append_step(column, features[i], i, name, steps));
    if (!probe.go_on(static_cast<int64_t>(1 + features[i].size() / 16))) return probe.status();
  }
  const int64_t first = static_cast<int64_t>(steps.step_ends.size() - features.size());
  if (column.shape) MR_TRY(check_sizes(column, first, name, steps));
  steps.longest_list = std::max(steps.longest_list, static_cast<int64_t>(features.size()));
  steps.list_ends.push_back(static_cast<int64_t>(steps.step_ends.size()));
  return {};
}

Result<ListedSparse> sparse_steps(const ListedSteps& steps, bool has_batch) {
  const auto count = static_cast<int64_t>(steps.values.size());
  ListedSparse made;
  MR_ASSIGN(made.indices, Tensor::allocate(DType::i64, {count, has_batch ? 3 : 2}));
  int64_t* to = static_cast<int64_t*>(made.indices.mutable_data());
  for (size_t list = 0; list < steps.list_ends.size(); ++list) {
    const int64_t first = steps.first_step(list);
    for (int64_t step = first; step < steps.list_ends[list]; ++step) {
      const int64_t length = steps.step_ends[static_cast<size_t>(step)] - steps.first_value(step);
      for (int64_t i = 0; i < length; ++i) {
        if (has_batch) *to++ = static_cast<int64_t>(list);
        *to++ = step - first;
        *to++ = i;
      }
    }
  }
  MR_ASSIGN(made.values, steps.values.tensor({count}));
  std::vector<int64_t> dims;
  if (has_batch) dims.push_back(static_cast<int64_t>(steps.list_ends.size()));
  dims.insert(dims.end(), {steps.longest_list, steps.longest_step});
  made.shape = Tensor::vector<int64_t>(dims);
  return made;
}

Result<Tensor> dense_steps(const ListedSteps& steps, const Shape& shape, bool has_batch) {
  Shape::Dims dims;
  if (has_batch) dims.push_back(static_cast<int64_t>(steps.list_ends.size()));
  dims.push_back(steps.longest_list);
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  MR_ASSIGN(const Shape whole, Shape::create(dims));
  MR_ASSIGN(Tensor made, Tensor::allocate(steps.values.dtype, whole));
  if (whole.num_elements() == 0) return made;
  const auto longest = static_cast<size_t>(steps.longest_list * shape.num_elements());
  for (size_t list = 0; list < steps.list_ends.size(); ++list) {
    const auto begin = static_cast<size_t>(steps.first_value(steps.first_step(list)));
    const auto end = static_cast<size_t>(steps.first_value(steps.list_ends[list]));
    steps.values.copy_to(begin, end - begin, made, list * longest);
    fill_elements(made, list * longest + end - begin, longest - (end - begin), Tensor());
  }
  return made;
}

}  // namespace millrace

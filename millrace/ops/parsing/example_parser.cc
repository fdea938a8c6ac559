#include "millrace/ops/parsing/example_parser.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/share_work.h"

namespace millrace {
namespace {

Status check_type(std::string_view key, DType dtype) {
  if (dtype == DType::i64 || dtype == DType::f32 || dtype == DType::string) return {};
  return invalid("Feature: ", key, " is asked for as ", dtype_name(dtype),
                 "; features are int64, float or string");
}

Status check_dense(const DenseColumn& column) {
  MR_TRY(check_type(column.key, column.dtype));
  const PartialShape& shape = column.shape;
  const bool is_known =
      shape.has_rank() && std::all_of(shape.dims().begin() + (shape.rank() > 0 ? 1 : 0),
                                      shape.dims().end(), [](int64_t dim) { return dim >= 0; });
  if (!is_known) {
    return invalid("dense_shapes of feature '", column.key,
                   "' has unknown rank or unknown inner dimensions: ", shape.to_string());
  }
  const Tensor& fallback = column.fallback;
  if (!fallback.has_value()) return {};
  if (fallback.dtype() != column.dtype) {
    return invalid("dense_defaults of feature '", column.key, "' is ", dtype_name(fallback.dtype()),
                   ", but the feature ", dtype_name(column.dtype));
  }
  if (column.is_variable()) {
    if (fallback.num_elements() == 1) return {};
    return invalid("dense_shape of feature '", column.key,
                   "' is a variable length shape: ", shape.to_string(),
                   ", therefore its default must contain a single element (the padding element). "
                   "But its shape is: ",
                   fallback.shape().to_string());
  }
  if (fallback.num_elements() == 0 || shape.allows(fallback.shape())) return {};
  return invalid("def_value of feature '", column.key, "' has shape ", fallback.shape().to_string(),
                 ", but its dense_shape is ", shape.to_string());
}

std::string at_feature(std::string_view name, std::string_view key, size_t index) {
  return str_cat("Name: ", name.empty() ? "<unknown>" : name, ", Key: ", key, ", Index: ", index,
                 ".  ");
}

// The list of a Feature that holds such values.
std::string_view kind_of(DType dtype) {
  return dtype == DType::string ? "bytes" : dtype_name(dtype);
}

template <class Column>
Status mistyped(const Column& column, const Feature& feature, std::string_view name, size_t index) {
  return invalid(at_feature(name, column.key, index),
                 "Data types don't match. Data type: ", dtype_name(feature.dtype),
                 " but expected type: ", dtype_name(column.dtype));
}

template <class Text>
size_t bytes_of(std::span<const Text> texts) {
  size_t bytes = 0;
  for (const Text& text : texts) bytes += text.size();
  return bytes;
}

std::string could_not_parse(size_t index) {
  return str_cat("Could not parse example input, example ", index);
}

// What a byte of an Example costs, for whether threads are worth waking.
constexpr size_t kStepsPerByte = 3;

// How many bytes were worth a look at whether the step still runs.
int64_t work_of(size_t bytes) { return static_cast<int64_t>(1 + bytes / 16); }

}  // namespace

Result<SparseOutputs> sparse_outputs(const ParsedList& list, bool has_batch) {
  const auto count = static_cast<int64_t>(list.values.size());
  SparseOutputs outputs;
  MR_ASSIGN(outputs.indices, Tensor::allocate(DType::i64, {count, has_batch ? 2 : 1}));
  const std::span<int64_t> places = outputs.indices.mutable_flat<int64_t>();
  size_t next = 0;
  int64_t begin = 0;
  for (size_t row = 0; row < list.row_ends.size(); ++row) {
    for (int64_t i = begin; i < list.row_ends[row]; ++i) {
      if (has_batch) places[next++] = static_cast<int64_t>(row);
      places[next++] = i - begin;
    }
    begin = list.row_ends[row];
  }
  MR_ASSIGN(outputs.values, list.values.tensor({count}));
  outputs.shape =
      has_batch
          ? Tensor::vector<int64_t>({static_cast<int64_t>(list.row_ends.size()), list.longest})
          : Tensor::vector<int64_t>({list.longest});
  return outputs;
}

Result<int> set_parsed(KernelContext& context, ParsedExamples parsed,
                       std::span<const DType> split_types, bool has_batch) {
  const int ragged = static_cast<int>(split_types.size());
  const int lists = static_cast<int>(parsed.lists.size()) - ragged;
  for (int i = 0; i < lists; ++i) {
    MR_ASSIGN(SparseOutputs outputs,
              sparse_outputs(parsed.lists[static_cast<size_t>(i)], has_batch));
    context.set_output(i, std::move(outputs.indices));
    context.set_output(lists + i, std::move(outputs.values));
    context.set_output(2 * lists + i, std::move(outputs.shape));
  }
  int slot = 3 * lists;
  for (Tensor& dense : parsed.dense) context.set_output(slot++, std::move(dense));
  for (int i = 0; i < ragged; ++i) {
    const ParsedList& list = parsed.lists[static_cast<size_t>(lists) + static_cast<size_t>(i)];
    MR_ASSIGN(Tensor values, list.values.tensor({static_cast<int64_t>(list.values.size())}));
    MR_ASSIGN(Tensor splits, row_splits(split_types[static_cast<size_t>(i)], list.row_ends));
    context.set_output(slot + i, std::move(values));
    context.set_output(slot + ragged + i, std::move(splits));
  }
  return slot + 2 * ragged;
}

Result<std::vector<std::string>> keys_of(const AttrView& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  const auto* keys = value == nullptr ? nullptr : value->as_list_of<std::string>();
  if (keys == nullptr) return invalid("attribute '", name, "' must be a list of strings");
  return std::vector<std::string>(keys->begin(), keys->end());
}

Result<Tensor> row_splits(DType dtype, std::span<const int64_t> ends) {
  std::vector<int64_t> splits{0};
  splits.insert(splits.end(), ends.begin(), ends.end());
  return integer_tensor(dtype, {static_cast<int64_t>(splits.size())}, splits);
}

int64_t DenseColumn::stride() const {
  int64_t size = 1;
  for (int axis = is_variable() ? 1 : 0; axis < shape.rank(); ++axis) size *= shape.dim(axis);
  return size;
}

Result<ExampleParser> ExampleParser::create(std::vector<DenseColumn> dense,
                                            std::vector<ListColumn> lists) {
  ExampleParser parser;
  for (const DenseColumn& column : dense) {
    MR_TRY(check_dense(column));
    // The size must be one that fits.
    if (const auto shape = column.shape.to_shape()) MR_TRY(Shape::create(shape->dims()).status());
  }
  for (size_t i = 0; i < dense.size(); ++i) parser.columns_[dense[i].key].push_back(i);
  for (size_t i = 0; i < lists.size(); ++i) {
    MR_TRY(check_type(lists[i].key, lists[i].dtype));
    parser.columns_[lists[i].key].push_back(dense.size() + i);
  }
  parser.dense_ = std::move(dense);
  parser.lists_ = std::move(lists);
  return parser;
}

Result<ExampleParser::Fixed> ExampleParser::fixed(std::optional<size_t> count, size_t bytes) const {
  Fixed made(dense_.size());
  const size_t examples = count.value_or(1);
  for (size_t i = 0; i < dense_.size(); ++i) {
    const DenseColumn& column = dense_[i];
    if (column.is_variable()) continue;
    Shape::Dims dims(column.shape.dims().begin(), column.shape.dims().end());
    if (count) dims.insert(dims.begin(), static_cast<int64_t>(examples));
    MR_ASSIGN(const Shape shape, Shape::create(dims));
    // Each element has a byte at least: where there are fewer, an example lacks some. Nothing is
    // allocated then, and that one is told of.
    const bool has_fallback = column.fallback.has_value() && column.fallback.num_elements() > 0;
    if (!has_fallback && static_cast<uint64_t>(shape.num_elements()) > bytes) continue;
    MR_ASSIGN(made[i], Tensor::allocate(column.dtype, shape));
  }
  return made;
}

Result<ParsedExamples> ExampleParser::parse(KernelContext& context,
                                            std::span<const std::string> serialized,
                                            std::span<const std::string> names) const {
  const size_t bytes = bytes_of(serialized), count = serialized.size();
  const auto cost = static_cast<int64_t>(kStepsPerByte * bytes / std::max<size_t>(count, 1));
  const auto pieces =
      static_cast<size_t>(pieces_of_range(static_cast<int64_t>(count), std::max<int64_t>(cost, 1)));
  MR_ASSIGN(Fixed targets, fixed(count, bytes));
  std::vector<Build> builds(pieces);
  std::vector<Status> errors(pieces);
  const Status shared =
      share_work(context, static_cast<int64_t>(pieces), [&](int64_t index, CancelProbe& probe) {
        const auto piece = static_cast<size_t>(index);
        builds[piece] = begin();
        errors[piece] = add_examples(serialized, names, count * piece / pieces,
                                     count * (piece + 1) / pieces, probe, targets, builds[piece]);
        return errors[piece];
      });
  for (Status& error : errors) MR_TRY(std::move(error));
  MR_TRY(shared);
  for (size_t piece = 1; piece < pieces; ++piece) append(builds[0], std::move(builds[piece]));
  return finish(std::move(builds[0]), std::move(targets), true);
}

Result<ParsedExamples> ExampleParser::parse(std::span<const std::string> serialized,
                                            CancelProbe& probe) const {
  MR_ASSIGN(Fixed targets, fixed(serialized.size(), bytes_of(serialized)));
  Build build = begin();
  MR_TRY(add_examples(serialized, {}, 0, serialized.size(), probe, targets, build));
  return finish(std::move(build), std::move(targets), true);
}

Status ExampleParser::add_examples(std::span<const std::string> serialized,
                                   std::span<const std::string> names, size_t from, size_t to,
                                   CancelProbe& probe, Fixed& fixed, Build& build) const {
  for (size_t i = from; i < to; ++i) {
    const Where where{names.empty() ? std::string_view() : names[i], i};
    const auto features = messages_in(serialized[i], 1);
    if (!features.ok()) return features.status().with(could_not_parse(i));
    MR_TRY(add(*features, where, fixed, build));
    if (!probe.go_on(work_of(serialized[i].size()))) return probe.status();
  }
  return {};
}

Result<ParsedExamples> ExampleParser::parse_one(const std::string& serialized,
                                                CancelProbe& probe) const {
  MR_ASSIGN(const auto features, messages_in(serialized, 1).with("Could not parse example input"));
  return parse_features(features, "", probe);
}

Result<ParsedExamples> ExampleParser::parse_features(std::span<const std::string_view> features,
                                                     std::string_view name,
                                                     CancelProbe& probe) const {
  MR_ASSIGN(Fixed targets, fixed(std::nullopt, bytes_of(features)));
  Build build = begin();
  MR_TRY(add(features, {name, 0}, targets, build));
  if (!probe.go_on(1)) return probe.status();
  return finish(std::move(build), std::move(targets), false);
}

ExampleParser::Build ExampleParser::begin() const {
  Build build;
  for (const DenseColumn& column : dense_) build.dense.push_back({FeatureValues(column.dtype), {}});
  for (const ListColumn& column : lists_)
    build.lists.push_back({FeatureValues(column.dtype), {}, 0});
  build.found.resize(dense_.size() + lists_.size());
  return build;
}

void ExampleParser::append(Build& build, Build&& more) {
  for (size_t i = 0; i < build.dense.size(); ++i) {
    DenseBuild &to = build.dense[i], &from = more.dense[i];
    to.values.append_all(std::move(from.values));
    to.counts.insert(to.counts.end(), from.counts.begin(), from.counts.end());
  }
  for (size_t i = 0; i < build.lists.size(); ++i) {
    ParsedList &to = build.lists[i], &from = more.lists[i];
    const auto before = static_cast<int64_t>(to.values.size());
    to.values.append_all(std::move(from.values));
    for (const int64_t end : from.row_ends) to.row_ends.push_back(before + end);
    to.longest = std::max(to.longest, from.longest);
  }
}

Status ExampleParser::add(std::span<const std::string_view> features, const Where& where,
                          Fixed& fixed, Build& build) const {
  std::vector<std::optional<Feature>>& found = build.found;
  std::ranges::fill(found, std::nullopt);
  for (const std::string_view map : features) {
    const Status read =
        each_entry(map, [&](std::string_view key, std::string_view value) -> Status {
          const auto columns = columns_.find(to_absl(key));
          if (columns == columns_.end()) return {};
          MR_ASSIGN(const Feature feature, Feature::read(value));
          for (const size_t column : columns->second) found[column] = feature;
          return {};
        });
    if (!read.ok()) return read.with(could_not_parse(where.index));
  }
  for (size_t i = 0; i < dense_.size(); ++i) {
    MR_TRY(dense_[i].is_variable() ? add_variable(dense_[i], found[i], where, build.dense[i])
                                   : add_fixed(dense_[i], found[i], where, fixed[i]));
  }
  for (size_t i = 0; i < lists_.size(); ++i)
    MR_TRY(add_list(lists_[i], found[dense_.size() + i], where, build.lists[i]));
  return {};
}

Status ExampleParser::add_fixed(const DenseColumn& column, const std::optional<Feature>& feature,
                                const Where& where, Tensor& target) const {
  const auto stride = static_cast<size_t>(column.stride());
  const size_t at = stride * where.index;
  if (!feature || feature->dtype == DType::invalid) {
    if (column.fallback.has_value() && column.fallback.num_elements() > 0) {
      copy_into(column.fallback, target, at);
      return {};
    }
    if (stride == 0 && column.fallback.has_value()) return {};
    return invalid("Name: ", where.name.empty() ? "<unknown>" : where.name,
                   ", Feature: ", column.key, " (data type: ", dtype_name(column.dtype),
                   ") is required but could not be found.");
  }
  if (feature->dtype != column.dtype) return mistyped(column, *feature, where.name, where.index);
  MR_ASSIGN(const size_t count, feature->write_to(target, at, target.has_value() ? stride : 0));
  if (count == stride) return {};
  return invalid(at_feature(where.name, column.key, where.index),
                 count > stride ? "Can't parse serialized Example: " : "", "Number of ",
                 kind_of(column.dtype), " values != expected.  values size: ", count,
                 " but output shape: ", column.shape.to_string());
}

Status ExampleParser::add_variable(const DenseColumn& column, const std::optional<Feature>& feature,
                                   const Where& where, DenseBuild& build) const {
  if (!feature || feature->dtype == DType::invalid) {
    build.counts.push_back(0);
    return {};
  }
  if (feature->dtype != column.dtype) return mistyped(column, *feature, where.name, where.index);
  MR_ASSIGN(const size_t count, feature->append_to(build.values));
  const auto stride = static_cast<size_t>(column.stride());
  build.counts.push_back(count);
  if (stride == 0 ? count == 0 : count % stride == 0) return {};
  return invalid(at_feature(where.name, column.key, where.index), "Number of ",
                 kind_of(column.dtype), " values is not a multiple of stride length. Saw ", count,
                 " values but output shape is: ", column.shape.to_string(), " (under key ",
                 column.key, ": ", count, ", which should be divisible by ", stride, ")");
}

Status ExampleParser::add_list(const ListColumn& column, const std::optional<Feature>& feature,
                               const Where& where, ParsedList& build) const {
  size_t count = 0;
  if (feature && feature->dtype != DType::invalid) {
    if (feature->dtype != column.dtype) {
      return mistyped(column, *feature, where.name, where.index);
    }
    MR_ASSIGN(count, feature->append_to(build.values));
  }
  build.longest = std::max(build.longest, static_cast<int64_t>(count));
  build.row_ends.push_back(static_cast<int64_t>(build.values.size()));
  return {};
}

Result<Tensor> ExampleParser::padded(const DenseColumn& column, const DenseBuild& build,
                                     bool has_batch) const {
  Shape::Dims dims;
  if (has_batch) dims.push_back(static_cast<int64_t>(build.counts.size()));
  dims.insert(dims.end(), column.shape.dims().begin(), column.shape.dims().end());
  const size_t longest =
      build.counts.empty() ? 0 : *std::max_element(build.counts.begin(), build.counts.end());
  const auto stride = static_cast<size_t>(column.stride());
  dims[has_batch ? 1 : 0] = stride == 0 ? 0 : static_cast<int64_t>(longest / stride);
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor padded, Tensor::allocate(column.dtype, shape));
  size_t begin = 0, to = 0;
  for (const size_t count : build.counts) {
    build.values.copy_to(begin, count, padded, to);
    fill_elements(padded, to + count, longest - count, column.fallback);
    begin += count;
    to += longest;
  }
  return padded;
}

Result<ParsedExamples> ExampleParser::finish(Build build, Fixed fixed, bool has_batch) const {
  ParsedExamples parsed;
  parsed.dense = std::move(fixed);
  for (size_t i = 0; i < dense_.size(); ++i) {
    if (!dense_[i].is_variable()) continue;
    MR_ASSIGN(parsed.dense[i], padded(dense_[i], build.dense[i], has_batch));
  }
  parsed.lists = std::move(build.lists);
  return parsed;
}

}  // namespace millrace

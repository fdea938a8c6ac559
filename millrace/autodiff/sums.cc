#include "millrace/autodiff/sums.h"

#include <algorithm>

namespace millrace {
namespace {

Result<Endpoint> concatenated(PlacedNodes& nodes, std::vector<Endpoint> parts) {
  MR_ASSIGN(const Endpoint axis, nodes.add_constant(Tensor::scalar<int32_t>(0)));
  const auto number = static_cast<int64_t>(parts.size());
  parts.push_back(axis);
  return nodes.add("ConcatV2", parts, {{"N", number}});
}

// Rows of all parts, one after another. Where indices are of two types, the wider one counts.
Result<Gradient> summed_slices(PlacedNodes& nodes, const std::vector<Gradient>& parts) {
  const bool is_wide = std::ranges::any_of(
      parts, [&](const Gradient& part) { return nodes.dtype(part.slices->indices) == DType::i64; });
  std::vector<Endpoint> values, indices;
  for (const Gradient& part : parts) {
    values.push_back(part.slices->values);
    indices.push_back(part.slices->indices);
    if (!is_wide || nodes.dtype(indices.back()) == DType::i64) continue;
    MR_ASSIGN(indices.back(), nodes.add("Cast", {indices.back()}, {{"DstT", DType::i64}}));
  }
  MR_ASSIGN(const Endpoint all_values, concatenated(nodes, std::move(values)));
  MR_ASSIGN(const Endpoint all_indices, concatenated(nodes, std::move(indices)));
  return Gradient{.slices =
                      IndexedSlices{all_values, all_indices, parts.front().slices->dense_shape}};
}

Result<Endpoint> add_n(PlacedNodes& nodes, std::span<const Endpoint> parts) {
  return nodes.add("AddN", parts, {{"N", static_cast<int64_t>(parts.size())}});
}

Result<Endpoint> tree(PlacedNodes& nodes, std::vector<Endpoint> parts) {
  while (parts.size() > 1) {
    std::vector<Endpoint> halves;
    for (size_t i = 0; i + 1 < parts.size(); i += 2) {
      MR_ASSIGN(const Endpoint sum, add_n(nodes, std::span(parts).subspan(i, 2)));
      halves.push_back(sum);
    }
    if (parts.size() % 2 == 1) halves.push_back(parts.back());
    parts = std::move(halves);
  }
  return parts.front();
}

}  // namespace

Result<Endpoint> densified(PlacedNodes& nodes, const IndexedSlices& slices) {
  MR_ASSIGN(const Endpoint first, nodes.add_constant(Tensor::vector<int32_t>({0})));
  MR_ASSIGN(const Endpoint second, nodes.add_constant(Tensor::vector<int32_t>({1})));
  MR_ASSIGN(const Endpoint rows,
            nodes.add("StridedSlice", {slices.dense_shape, first, second, second},
                      {{"shrink_axis_mask", int64_t{1}}}));
  return nodes.add("UnsortedSegmentSum", {slices.values, slices.indices, rows});
}

Result<Gradient> summed(PlacedNodes& nodes, const std::vector<Gradient>& parts,
                        Aggregation aggregation) {
  if (parts.size() == 1) return parts.front();
  if (std::ranges::all_of(parts, [](const Gradient& part) { return part.slices.has_value(); }))
    return summed_slices(nodes, parts);
  std::vector<Endpoint> dense;
  for (const Gradient& part : parts) {
    dense.push_back(part.dense);
    if (!part.slices) continue;
    MR_ASSIGN(dense.back(), densified(nodes, *part.slices));
  }
  Gradient sum;
  if (aggregation == Aggregation::tree) {
    MR_ASSIGN(sum.dense, tree(nodes, std::move(dense)));
  } else {
    MR_ASSIGN(sum.dense, add_n(nodes, dense));
  }
  return sum;
}

}  // namespace millrace

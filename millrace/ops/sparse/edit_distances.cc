// Part of families.h: register_edit_distances.
#include <algorithm>
#include <limits>
#include <map>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {
namespace {

// How many elements must be put in, taken out or replaced to make one sequence of the other
// (Levenshtein); a row of the table of all prefixes at a time.
template <class T>
Result<int64_t> levenshtein(std::span<const T> one, std::span<const int64_t> of_one,
                            std::span<const T> other, std::span<const int64_t> of_other,
                            CancelProbe& probe) {
  std::vector<int64_t> row(of_other.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 0; i < of_one.size(); ++i) {
    int64_t corner = row[0];
    row[0] = static_cast<int64_t>(i) + 1;
    const T& element = one[static_cast<size_t>(of_one[i])];
    for (size_t j = 0; j < of_other.size(); ++j) {
      const bool is_same = element == other[static_cast<size_t>(of_other[j])];
      const int64_t replaced = corner + (is_same ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({replaced, corner + 1, row[j] + 1});
    }
    if (!probe.go_on(static_cast<int64_t>(row.size()))) return probe.status();
  }
  return row.back();
}

// The rows of the sequence at each place of the output, which has the shape of all axes but the
// last.
using Sequences = std::map<int64_t, std::vector<int64_t>>;

Result<Sequences> sequences_of(const SparseInput& in, const Shape& places) {
  Sequences made;
  for (int64_t i = 0; i < in.number; ++i) {
    int64_t at = 0;
    for (int axis = 0; axis < places.rank(); ++axis) {
      const int64_t index = in.place(i)[static_cast<size_t>(axis)];
      if (index < 0 || index >= places.dim(axis)) {
        return invalid("indices[", i, ",", axis, "] = ", index, " is not in [0, ", places.dim(axis),
                       "), the distances being ", places.to_string());
      }
      at = at * places.dim(axis) + index;
    }
    made[at].push_back(i);
  }
  return made;
}

template <class T>
Result<Tensor> edit_distances_of(const SparseInput& hypothesis, const SparseInput& truth,
                                 bool normalizes, CancelProbe probe) {
  std::vector<int64_t> dims;
  for (size_t axis = 0; axis + 1 < truth.rank; ++axis)
    dims.push_back(std::max(hypothesis.dims[axis], truth.dims[axis]));
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  if (shape.num_elements() == 0)
    return invalid("Got output shape ", shape.to_string(), " which has 0 elements");
  MR_ASSIGN(const Sequences guesses, sequences_of(hypothesis, shape));
  MR_ASSIGN(const Sequences truths, sequences_of(truth, shape));
  MR_ASSIGN(Tensor made, Tensor::zeros(DType::f32, shape));
  const auto out = made.mutable_flat<float>();
  for (const auto& [at, guess] : guesses) {
    const auto found = truths.find(at);
    float& distance = out[static_cast<size_t>(at)];
    if (found == truths.end()) {
      distance =
          normalizes ? std::numeric_limits<float>::infinity() : static_cast<float>(guess.size());
      continue;
    }
    MR_ASSIGN(const int64_t steps, levenshtein<T>(truth.values.flat<T>(), found->second,
                                                  hypothesis.values.flat<T>(), guess, probe));
    distance = static_cast<float>(steps);
    if (normalizes) distance /= static_cast<float>(found->second.size());
  }
  for (const auto& [at, sequence] : truths) {
    if (guesses.find(at) == guesses.end())
      out[static_cast<size_t>(at)] = normalizes ? 1.f : static_cast<float>(sequence.size());
  }
  return made;
}

using EditDistances = Result<Tensor> (*)(const SparseInput&, const SparseInput&, bool, CancelProbe);

Result<Tensor> edit_distance(KernelContext& context, EditDistances distances, bool normalizes) {
  MR_ASSIGN(const SparseInput hypothesis, read_sparse(context, 0, Places::anywhere));
  MR_ASSIGN(const SparseInput truth, read_sparse(context, 3, Places::anywhere));
  if (truth.rank < 2) {
    return invalid("Input SparseTensors must have rank at least 2, but truth_shape rank is: ",
                   truth.rank);
  }
  if (truth.rank != hypothesis.rank) {
    return invalid("Expected truth and hypothesis to have matching ranks, but they are ",
                   truth.rank, " and ", hypothesis.rank);
  }
  return distances(hypothesis, truth, normalizes, CancelProbe(context));
}

Status infer_edit_distance(InferContext& context) {
  MR_TRY(infer_sparse(context, 0));
  MR_TRY(infer_sparse(context, 3));
  MR_ASSIGN(const auto guesses, constant_integers(context, 2, "hypothesis_shape"));
  MR_ASSIGN(const auto truths, constant_integers(context, 5, "truth_shape"));
  const int64_t rank = sparse_rank(context, 3);
  if (guesses && truths && guesses->size() == truths->size() && !truths->empty()) {
    std::vector<int64_t> dims;
    for (size_t axis = 0; axis + 1 < truths->size(); ++axis)
      dims.push_back(std::max((*guesses)[axis], (*truths)[axis]));
    return context.set_output(0, PartialShape::create(dims));
  }
  if (rank > 1 && rank <= kMaxRank)
    context.set_output(0, PartialShape::of_rank(static_cast<int>(rank) - 1));
  return {};
}

using Comparable = cpu::Join<cpu::Number, cpu::Types<bool, std::string>>;

struct BoundEditDistances {
  Result<EditDistances> read(const KernelSpec& spec) const {
    const DType dtype = spec.inputs[1].dtype;
    const auto found = cpu::pick<EditDistances>(
        Comparable(), dtype, []<class T>() -> EditDistances { return &edit_distances_of<T>; });
    if (found == nullptr) return cpu::no_loop(spec, dtype);
    return found;
  }
};

}  // namespace

Status register_edit_distances(OpRegistry& ops) {
  return ops.add({
      .name = "EditDistance",
      .doc = "How many elements of sequences, which are the innermost rows of sparse tensors, must "
             "be put in, taken out or replaced to make the truth of the hypothesis; divided by the "
             "length of the truth, if it is to be normalized.",
      .signature = "hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, "
                   "truth_indices: int64, truth_values: T, truth_shape: int64 -> output: float | "
                   "normalize: bool = true, T: type",
      .infer = infer_edit_distance,
      .cpu = kernel_with(edit_distance, BoundEditDistances(), boolean("normalize")),
      .not_differentiable = "a number of changes has no slope",
      .cost = Cost::heavy,
      .examples = {"[[0 0] [0 1] [1 0]], [1 0 1], [2 2], [[0 0] [0 1] [1 0]], [1 1 1], [2 2] -> "
                   "[0.5 0]",
                   "[[0 0] [0 1]], [1 0], [2 2], [[0 0] [1 0]], [1 1], [2 1] -> [1 1] | "
                   "normalize = false"},
  });
}

}  // namespace millrace

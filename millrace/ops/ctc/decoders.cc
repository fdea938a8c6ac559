// Part of families.h: register_ctc_decoders.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/ctc/beam.h"
#include "millrace/ops/ctc/families.h"

namespace millrace {
namespace {

struct CtcBatch {
  int64_t steps = 0, sequences = 0, classes = 0;
  std::vector<int64_t> lengths;
};

Result<CtcBatch> read_ctc_batch(const Tensor& inputs, const Tensor& lengths) {
  if (inputs.shape().rank() != 3)
    return invalid("inputs is not a 3-Tensor, but ", inputs.shape().to_string());
  if (inputs.num_elements() == 0)
    return invalid("inputs must not be empty, but are ", inputs.shape().to_string());
  if (lengths.shape().rank() != 1)
    return invalid("sequence_length is not a vector, but ", lengths.shape().to_string());
  CtcBatch made{inputs.shape().dim(0), inputs.shape().dim(1), inputs.shape().dim(2), {}};
  if (made.classes >= std::numeric_limits<int32_t>::max())
    return invalid("num_classes cannot exceed max int, but is ", made.classes);
  if (made.sequences != lengths.num_elements()) {
    return error(Code::failed_precondition,
                 "len(sequence_length) != batch_size.  len(sequence_length):  ",
                 lengths.num_elements(), " batch_size: ", made.sequences);
  }
  for (const int32_t length : lengths.flat<int32_t>()) {
    if (length > made.steps) {
      return Status(Code::failed_precondition, str_cat("sequence_length(", made.lengths.size(),
                                                       ") = ", length, " must be <= ", made.steps));
    }
    made.lengths.push_back(std::max(length, 0));
  }
  return made;
}

// The labels of each sequence as the parts of a sparse tensor, at outputs `slot`, `slot + stride`
// and `slot + 2 * stride`.
template <class Lists>
void set_labels(KernelContext& context, int slot, int stride, const Lists& lists) {
  std::vector<int64_t> places, labels;
  size_t longest = 0;
  for (size_t b = 0; b < lists.size(); ++b) {
    longest = std::max(longest, lists[b].size());
    for (size_t i = 0; i < lists[b].size(); ++i) {
      places.push_back(static_cast<int64_t>(b));
      places.push_back(static_cast<int64_t>(i));
      labels.push_back(lists[b][i]);
    }
  }
  const auto number = static_cast<int64_t>(labels.size());
  context.set_output(slot, Tensor::vector<int64_t>(places).reshaped({number, 2}).value());
  context.set_output(slot + stride, Tensor::vector<int64_t>(labels));
  context.set_output(slot + 2 * stride, Tensor::vector<int64_t>({static_cast<int64_t>(lists.size()),
                                                                 static_cast<int64_t>(longest)}));
}

// --- the best class of each step ---

template <class T>
Status decode_greedily(KernelContext& context, Runs runs, int64_t blank_index) {
  const Tensor& inputs = context.input(0);
  MR_ASSIGN(const CtcBatch batch, read_ctc_batch(inputs, context.input(1)));
  const int64_t blank = blank_index < 0 ? batch.classes + blank_index : blank_index;
  if (blank < 0 || blank >= batch.classes) {
    return invalid("blank_index expected to be between ", -batch.classes, " and ",
                   batch.classes - 1, " but was ", blank_index);
  }
  MR_ASSIGN(Tensor sums, Tensor::zeros(dtype_of<T>, {batch.sequences, 1}));
  std::vector<std::vector<int64_t>> lists(static_cast<size_t>(batch.sequences));
  const T* const all = inputs.flat<T>().data();
  CancelProbe probe(context);
  for (int64_t b = 0; b < batch.sequences; ++b) {
    T& sum = sums.mutable_flat<T>()[static_cast<size_t>(b)];
    int64_t before = -1;
    for (int64_t t = 0; t < batch.lengths[static_cast<size_t>(b)]; ++t) {
      const T* const logits = all + (t * batch.sequences + b) * batch.classes;
      const T* const best = std::max_element(logits, logits + batch.classes);
      const int64_t label = best - logits;
      sum -= *best;
      if (label != blank && (runs == Runs::kept || label != before))
        lists[static_cast<size_t>(b)].push_back(label);
      before = label;
      if (!probe.go_on(batch.classes)) return probe.status();
    }
  }
  set_labels(context, 0, 1, lists);
  context.set_output(3, std::move(sums));
  return {};
}

Status decode_greedily_of(KernelContext& context, bool merges, int64_t blank_index) {
  const Runs runs = merges ? Runs::merged : Runs::kept;
  return context.input(0).dtype() == DType::f64
             ? decode_greedily<double>(context, runs, blank_index)
             : decode_greedily<float>(context, runs, blank_index);
}

// How many sequences there are, which the logits and the lengths must agree on.
Result<int64_t> infer_sequences(const InferContext& context) {
  MR_ASSIGN(const PartialShape inputs, context.input_of_rank(0, 3));
  MR_ASSIGN(const PartialShape lengths, context.input_of_rank(1, 1));
  const PartialShape batch{inputs.has_rank() ? inputs.dim(1) : kUnknownDim};
  MR_ASSIGN(const PartialShape both, batch.merge(lengths));
  return both.dim(0);
}

Status infer_greedy(InferContext& context) {
  MR_ASSIGN(const int64_t sequences, infer_sequences(context));
  context.set_output(0, PartialShape{kUnknownDim, 2});
  context.set_output(1, PartialShape::of_rank(1));
  context.set_output(2, PartialShape{2});
  context.set_output(3, PartialShape{sequences, 1});
  return {};
}

// --- beams ---

template <class T>
Status decode_by_beam(KernelContext& context, int64_t width, int64_t top_paths, Runs runs) {
  const Tensor& inputs = context.input(0);
  MR_ASSIGN(const CtcBatch batch, read_ctc_batch(inputs, context.input(1)));
  if (top_paths > width) return invalid("requested more paths than the beam width.");
  const auto top = static_cast<size_t>(top_paths);
  MR_ASSIGN(Tensor chances, Tensor::zeros(dtype_of<T>, {batch.sequences, top_paths}));
  // Of each path, the labels of each sequence.
  std::vector<std::vector<std::vector<int32_t>>> lists(top);
  CancelProbe probe(context);
  for (int64_t b = 0; b < batch.sequences; ++b) {
    CtcBeam<T> beam(batch.classes, width);
    for (int64_t t = 0; t < batch.lengths[static_cast<size_t>(b)]; ++t) {
      const auto at = static_cast<size_t>((t * batch.sequences + b) * batch.classes);
      MR_TRY(beam.step(inputs.flat<T>().subspan(at, static_cast<size_t>(batch.classes)), probe));
    }
    MR_ASSIGN(std::vector<CtcPath<T>> paths, beam.best(top_paths, runs));
    for (size_t i = 0; i < top; ++i) {
      chances.mutable_flat<T>()[static_cast<size_t>(b) * top + i] = paths[i].log_probability;
      lists[i].push_back(std::move(paths[i].labels));
    }
  }
  for (size_t i = 0; i < top; ++i)
    set_labels(context, static_cast<int>(i), static_cast<int>(top), lists[i]);
  context.set_output(3 * static_cast<int>(top), std::move(chances));
  return {};
}

Status decode_by_beam_of(KernelContext& context, int64_t width, int64_t top_paths, bool merges) {
  const Runs runs = merges ? Runs::merged : Runs::kept;
  return context.input(0).dtype() == DType::f64
             ? decode_by_beam<double>(context, width, top_paths, runs)
             : decode_by_beam<float>(context, width, top_paths, runs);
}

Status infer_beam(InferContext& context) {
  MR_ASSIGN(const int64_t sequences, infer_sequences(context));
  const int top = context.num_outputs() / 3;
  for (int i = 0; i < top; ++i) {
    context.set_output(i, PartialShape{kUnknownDim, 2});
    context.set_output(top + i, PartialShape::of_rank(1));
    context.set_output(2 * top + i, PartialShape{2});
  }
  return context.set_output(3 * top, PartialShape::create(Shape::Dims{sequences, top}));
}

}  // namespace

Status register_ctc_decoders(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "CTCGreedyDecoder",
      .doc =
          "The labels of the largest logit of each step, without blanks, as a sparse matrix, and "
          "minus the sums of those logits.",
      .signature = "inputs: T, sequence_length: int32 -> decoded_indices: int64, "
                   "decoded_values: int64, decoded_shape: int64, log_probability: T | "
                   "merge_repeated: bool = false, blank_index: int = -1, "
                   "T: {float, double} = float",
      .infer = infer_greedy,
      .cpu = kernel_with(decode_greedily_of, boolean("merge_repeated"), integer("blank_index")),
      .not_differentiable = "labels have no gradient",
      .cost = Cost::heavy,
      .examples = {"[[[1 2 0]] [[1 2 0]] [[3 2 0]]], [3] -> [[0 0] [0 1] [0 2]], [1 1 0], [1 3], "
                   "[[-7]]",
                   "[[[1 2 0]] [[1 2 0]] [[3 2 0]]], [3] -> [[0 0] [0 1]], [1 0], [1 2], [[-7]] | "
                   "merge_repeated = true"},
  }));
  return ops.add({
      .name = "CTCBeamSearchDecoder",
      .doc = "The most probable lists of labels that sequences of logits spell, each as a sparse "
             "matrix, and the logarithms of their probabilities.",
      .signature = "inputs: T, sequence_length: int32 -> decoded_indices: top_paths*int64, "
                   "decoded_values: top_paths*int64, decoded_shape: top_paths*int64, "
                   "log_probability: T | beam_width: int >= 1, top_paths: int >= 1, "
                   "merge_repeated: bool = true, T: {float, double} = float",
      .infer = infer_beam,
      .cpu = kernel_with(decode_by_beam_of, integer("beam_width"), integer("top_paths"),
                         boolean("merge_repeated")),
      .not_differentiable = "labels have no gradient",
      .cost = Cost::heavy,
      .examples = {"[[[0 0]] [[0 0]]], [2] -> [[0 0]], [0], [1 1], [[-0.2876820725]] | "
                   "beam_width = 3, top_paths = 1"},
  });
}

}  // namespace millrace

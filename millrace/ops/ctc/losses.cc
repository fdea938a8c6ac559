// Part of families.h: register_ctc_losses.
#include "millrace/op/bind.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/ctc/families.h"
#include "millrace/ops/ctc/loss.h"

namespace millrace {
namespace {

// What a node says.
struct CtcLossNode {
  bool collapses_labels = false, merges_repeated = true, ignores_longer = false;
  bool blank_is_first = false;  // else it is the last class
};

struct BoundCtcLoss {
  bool blank_is_first;
  Result<CtcLossNode> read(const KernelSpec& spec) const {
    CtcLossNode made;
    made.blank_is_first = blank_is_first;
    MR_ASSIGN(made.collapses_labels, spec.attrs.boolean("preprocess_collapse_repeated"));
    MR_ASSIGN(made.merges_repeated, spec.attrs.boolean("ctc_merge_repeated"));
    MR_ASSIGN(made.ignores_longer, spec.attrs.boolean("ignore_longer_outputs_than_inputs"));
    return made;
  }
};

using LabelLists = std::vector<std::vector<int32_t>>;

// The labels of each sequence.
Result<LabelLists> read_labels(const Tensor& indices, const Tensor& values, int64_t batch) {
  if (indices.shape().rank() != 2)
    return invalid("labels_indices is not a matrix, but ", indices.shape().to_string());
  if (values.shape().rank() != 1)
    return invalid("labels_values is not a vector, but ", values.shape().to_string());
  if (indices.shape().dim(0) != values.num_elements()) {
    return invalid(
        "labels_indices and labels_values must contain the same number of rows, but saw shapes: ",
        indices.shape().to_string(), " vs. ", values.shape().to_string());
  }
  if (indices.shape().dim(1) != 2) {
    return invalid("labels_indices has the sequence and the place of each label, 2 columns, not ",
                   indices.shape().dim(1));
  }
  const auto all = indices.flat<int64_t>();
  LabelLists lists(static_cast<size_t>(batch));
  for (size_t i = 0; 2 * i < all.size(); ++i) {
    const int64_t sequence = all[2 * i], place = all[2 * i + 1];
    if (sequence < 0 || sequence >= batch || place < 0) {
      return invalid("label SparseTensor is not valid: indices[", i, "] = [", sequence, ",", place,
                     "] is out of bounds: there are ", batch, " sequences");
    }
    const bool is_after = i == 0 || all[2 * i - 2] < sequence ||
                          (all[2 * i - 2] == sequence && all[2 * i - 1] < place);
    if (!is_after) {
      const bool is_same = all[2 * i - 2] == sequence && all[2 * i - 1] == place;
      return invalid("label SparseTensor is not valid: indices[", i, "] is ",
                     is_same ? "repeated" : "out of order");
    }
    lists[static_cast<size_t>(sequence)].push_back(values.flat<int32_t>()[i]);
  }
  return lists;
}

// The labels that are to be spelled. What is not below the last class ends the list.
Result<std::vector<int32_t>> spelled(std::span<const int32_t> labels, int64_t sequence,
                                     int64_t classes, const CtcLossNode& node) {
  std::vector<int32_t> made;
  bool is_over = false;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (i > 0 && node.collapses_labels && labels[i] == labels[i - 1]) continue;
    const bool ends =
        node.blank_is_first ? labels[i] >= classes || labels[i] == 0 : labels[i] >= classes - 1;
    if (ends) {
      is_over = true;
    } else if (is_over) {
      return invalid(
          "Saw a non-null label (index >= num_classes - 1) following a null label, "
          "batch: ",
          sequence, " num_classes: ", classes, ", place: ", i);
    } else if (labels[i] < 0) {
      return invalid("All labels must be nonnegative integers, batch: ", sequence, ", place: ", i,
                     ", label: ", labels[i]);
    } else {
      made.push_back(labels[i]);
    }
  }
  return made;
}

template <class T>
Status ctc_losses(KernelContext& context, const CtcLossNode& node) {
  const Tensor& inputs = context.input(0);
  const Tensor& lengths = context.input(3);
  if (inputs.shape().rank() != 3)
    return invalid("inputs is not a 3-Tensor, but ", inputs.shape().to_string());
  if (lengths.shape().rank() != 1)
    return invalid("sequence_length is not a vector, but ", lengths.shape().to_string());
  const int64_t steps = inputs.shape().dim(0), batch = inputs.shape().dim(1),
                classes = inputs.shape().dim(2);
  if (classes >= std::numeric_limits<int32_t>::max())
    return invalid("num_classes cannot exceed max int, but is ", classes);
  if (batch != lengths.num_elements()) {
    return invalid("len(sequence_length) != batch_size.  len(sequence_length):  ",
                   lengths.num_elements(), " batch_size: ", batch);
  }
  if (batch == 0) return invalid("batch_size must not be 0");
  if (classes == 0) return invalid("there are no classes: inputs are ", inputs.shape().to_string());
  MR_ASSIGN(const LabelLists labels, read_labels(context.input(1), context.input(2), batch));
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = lengths.flat<int32_t>()[static_cast<size_t>(b)];
    if (length < 0 || length > steps)
      return invalid("sequence_length(", b, ") = ", length, " is not in [0, ", steps, "]");
    const auto needed = static_cast<int64_t>(labels[static_cast<size_t>(b)].size());
    if (needed == 0) return invalid("Labels length is zero in batch ", b);
    if (needed > length && !node.ignores_longer) {
      return invalid("Not enough time for target transition sequence (required: ", needed,
                     ", available: ", length, ") in batch ", b,
                     ". You can turn this error into a warning by using the flag "
                     "ignore_longer_outputs_than_inputs");
    }
  }
  MR_ASSIGN(Tensor losses, Tensor::zeros(dtype_of<T>, {batch}));
  MR_ASSIGN(Tensor slopes, Tensor::zeros(dtype_of<T>, inputs.shape()));
  const CtcRules rules{static_cast<int32_t>(node.blank_is_first ? 0 : classes - 1),
                       node.merges_repeated};
  CancelProbe probe(context);
  for (int64_t b = 0; b < batch; ++b) {
    const auto& mine = labels[static_cast<size_t>(b)];
    MR_ASSIGN(const std::vector<int32_t> wanted, spelled(mine, b, classes, node));
    const int64_t length = lengths.flat<int32_t>()[static_cast<size_t>(b)];
    if (length == 0 || static_cast<int64_t>(mine.size()) > length) continue;
    const CtcSteps<T> sequence{inputs.flat<T>().data() + b * classes, length, classes,
                               batch * classes};
    MR_ASSIGN(
        losses.mutable_flat<T>()[static_cast<size_t>(b)],
        ctc_loss<T>(sequence, wanted, rules, slopes.mutable_flat<T>().data() + b * classes, probe));
  }
  context.set_output(0, std::move(losses));
  context.set_output(1, std::move(slopes));
  return {};
}

Status ctc_losses_of(KernelContext& context, const CtcLossNode& node) {
  return context.input(0).dtype() == DType::f64 ? ctc_losses<double>(context, node)
                                                : ctc_losses<float>(context, node);
}

Status infer_ctc_loss(InferContext& context) {
  MR_ASSIGN(const PartialShape inputs, context.input_of_rank(0, 3));
  MR_TRY(context.input_of_rank(1, 2));
  MR_TRY(context.input_of_rank(2, 1));
  MR_ASSIGN(const PartialShape lengths, context.input_of_rank(3, 1));
  const PartialShape batch{inputs.has_rank() ? inputs.dim(1) : kUnknownDim};
  MR_ASSIGN(const PartialShape both, batch.merge(lengths));
  context.set_output(0, both);
  context.set_output(1, inputs);
  return {};
}

// The slopes have been computed with the loss; nobody has computed theirs.
Status ctc_loss_gradient(GradContext& g) {
  const Endpoint slopes =
      g.add("PreventGradient", {{g.output(0).node, 1}},
            {{"message",
              std::string("Currently there is no way to take the second derivative of ctc_loss "
                          "due to the fused implementation's interaction with tf.gradients()")}});
  const Endpoint column = g.add("ExpandDims", {g.grad(0), g.scalar(DType::i32, -1)});
  g.set_input_grad(0, g.add("Mul", {column, slopes}));
  return {};
}

constexpr std::string_view kOptions =
    "preprocess_collapse_repeated: bool = false, ctc_merge_repeated: bool = true, "
    "ignore_longer_outputs_than_inputs: bool = false";

}  // namespace

Status register_ctc_losses(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "CTCLoss",
      .doc = "Minus the logarithm of the probability that each sequence of logits spells its "
             "labels, and the slopes of it by the logits. The last class is the blank.",
      .signature = str_cat("inputs: T, labels_indices: int64, labels_values: int32, "
                           "sequence_length: int32 -> loss: T, gradient: T | ",
                           kOptions, ", T: {float, double} = float"),
      .infer = infer_ctc_loss,
      .cpu = kernel_with(ctc_losses_of, BoundCtcLoss{false}),
      .grad = ctc_loss_gradient,
      .cost = Cost::heavy,
      .examples = {"[[[0 0]] [[0 0]]], [[0 0]], [0], [2] -> [0.2876820725], "
                   "[[[-0.1666666667 0.1666666667]] [[-0.1666666667 0.1666666667]]]"},
  }));
  return ops.add({
      .name = "CTCLossV2",
      .doc = "As CTCLoss, with the first class as the blank.",
      .signature = str_cat("inputs: float, labels_indices: int64, labels_values: int32, "
                           "sequence_length: int32 -> loss: float, gradient: float | ",
                           kOptions),
      .infer = infer_ctc_loss,
      .cpu = kernel_with(ctc_losses_of, BoundCtcLoss{true}),
      .grad = ctc_loss_gradient,
      .cost = Cost::heavy,
      .examples = {"[[[0 0]] [[0 0]]], [[0 0]], [1], [2] -> [0.2876820725], "
                   "[[[0.1666666667 -0.1666666667]] [[0.1666666667 -0.1666666667]]]"},
  });
}

}  // namespace millrace

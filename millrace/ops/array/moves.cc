// Part of families.h: register_moves.
#include <algorithm>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/along_axis.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/gather.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/loops/sums.h"

namespace millrace {
namespace {

// --- Roll ---

// How far each axis is rolled, in [0, dim).
Result<std::vector<int64_t>> read_shifts(const Tensor& shift, const Tensor& axis,
                                         const Shape& input) {
  if (input.rank() < 1) return invalid("input must be 1-D or higher");
  if (shift.shape().rank() > 1) {
    return invalid("shift must be a scalar or a 1-D vector. Found: ", shift.shape().to_string());
  }
  if (axis.shape().rank() > 1) {
    return invalid("axis must be a scalar or a 1-D vector. Found: ", axis.shape().to_string());
  }
  if (shift.shape() != axis.shape()) return invalid("shift and axis must have the same size");
  MR_ASSIGN(const std::vector<int64_t> by, read_integers(shift, "shift"));
  MR_ASSIGN(const std::vector<int64_t> axes, read_integers(axis, "axis"));
  std::vector<int64_t> shifts(static_cast<size_t>(input.rank()), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t at = axes[i] < 0 ? axes[i] + input.rank() : axes[i];
    if (at < 0 || at >= input.rank()) return invalid("axis ", axes[i], " is out of range");
    const int64_t dim = std::max<int64_t>(input.dim(static_cast<int>(at)), 1);
    int64_t& rolled = shifts[static_cast<size_t>(at)];
    rolled = (rolled + (by[i] % dim) + dim) % dim;
  }
  return shifts;
}

Result<Tensor> roll(KernelContext& context) {
  Tensor rolled = context.input(0);
  MR_ASSIGN(const std::vector<int64_t> shifts,
            read_shifts(context.input(1), context.input(2), rolled.shape()));
  const Strides strides = row_major_strides(rolled.shape());
  CancelProbe probe(context);
  for (size_t axis = 0; axis < shifts.size(); ++axis) {
    if (shifts[axis] == 0 || rolled.num_elements() == 0) continue;
    MR_ASSIGN(Tensor made, context.allocate(0, rolled.shape()));
    // The end comes to the front, the rest behind it.
    std::vector<int64_t> box(rolled.shape().dims().begin(), rolled.shape().dims().end());
    const int64_t dim = box[axis];
    box[axis] = shifts[axis];
    MR_TRY(copy_box(box, rolled, {(dim - shifts[axis]) * strides[axis], strides}, made,
                    {0, strides}, probe));
    box[axis] = dim - shifts[axis];
    MR_TRY(
        copy_box(box, rolled, {0, strides}, made, {shifts[axis] * strides[axis], strides}, probe));
    rolled = std::move(made);
  }
  return rolled;
}

Status infer_roll(InferContext& context) {
  for (const int slot : {1, 2}) {
    if (context.input(slot).rank() > 1)
      return invalid("shift and axis must be scalars or vectors, got ",
                     context.input(slot).to_string());
  }
  if (context.input(0).rank() == 0) return invalid("input must be 1-D or higher");
  return infer::same_as_input(context);
}

// --- ReverseSequence ---

struct SequenceAxes {
  int64_t sequence = 0, batch = 0;
};

Status check_sequence(const PartialShape& input, const PartialShape& lengths,
                      const SequenceAxes& axes) {
  if (axes.batch == axes.sequence) return invalid("batch_dim == seq_dim == ", axes.sequence);
  if (lengths.has_rank() && lengths.rank() != 1)
    return invalid("seq_lengths must be 1-dim, not ", lengths.rank());
  if (!input.has_rank()) return {};
  for (const int64_t axis : {axes.sequence, axes.batch}) {
    if (axis >= 0 && axis < input.rank()) continue;
    return invalid(axis == axes.sequence ? "seq_dim" : "batch_dim", " must be in [0, ",
                   input.rank(), "), got ", axis);
  }
  if (!lengths.has_rank()) return {};
  const int64_t batch = input.dim(static_cast<int>(axes.batch)), given = lengths.dim(0);
  if (batch == given || batch == kUnknownDim || given == kUnknownDim) return {};
  return invalid("Length of seq_lengths != input.dims(", axes.batch, "), (", given, " vs. ", batch,
                 ")");
}

Result<Tensor> reverse_sequence(KernelContext& context, int64_t sequence, int64_t batch) {
  const Tensor& input = context.input(0);
  const SequenceAxes axes{sequence, batch};
  MR_TRY(check_sequence(input.shape(), context.input(1).shape(), axes));
  MR_ASSIGN(const std::vector<int64_t> lengths, read_integers(context.input(1), "seq_lengths"));
  const int64_t most = input.shape().dim(static_cast<int>(sequence));
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0) return invalid("seq_lens(", i, ") < 0");
    if (lengths[i] > most) {
      return invalid("seq_lens(", i, ") > input.dims(", sequence, "): ", lengths[i], " > ", most);
    }
  }
  MR_ASSIGN(Tensor made, context.allocate(0, input.shape()));
  const Strides own = row_major_strides(input.shape());
  Strides backwards = own;
  backwards[static_cast<size_t>(sequence)] *= -1;
  std::vector<int64_t> box(input.shape().dims().begin(), input.shape().dims().end());
  box[static_cast<size_t>(batch)] = 1;
  CancelProbe probe(context);
  for (size_t i = 0; i < lengths.size() && input.num_elements() > 0; ++i) {
    const int64_t begin = static_cast<int64_t>(i) * own[static_cast<size_t>(batch)];
    const int64_t step = own[static_cast<size_t>(sequence)], length = lengths[i];
    if (length > 0) {
      box[static_cast<size_t>(sequence)] = length;
      MR_TRY(copy_box(box, input, {begin + (length - 1) * step, backwards}, made, {begin, own},
                      probe));
    }
    box[static_cast<size_t>(sequence)] = most - length;
    const BoxLayout rest{begin + length * step, own};
    if (length < most) MR_TRY(copy_box(box, input, rest, made, rest, probe));
  }
  return made;
}

Status infer_reverse_sequence(InferContext& context) {
  SequenceAxes axes;
  MR_ASSIGN(axes.sequence, context.attrs().integer("seq_dim"));
  MR_ASSIGN(axes.batch, context.attrs().integer("batch_dim"));
  MR_TRY(check_sequence(context.input(0), context.input(1), axes));
  return infer::same_as_input(context);
}

// --- MirrorPad ---

enum class Mirror : uint8_t { without_edge, with_edge };

struct BoundMirror {
  Result<Mirror> read(const KernelSpec& spec) const { return from(spec.attrs); }
  static Result<Mirror> from(const AttrView& attrs) {
    MR_ASSIGN(const std::string mode, attrs.string("mode"));
    return mode == "REFLECT" ? Mirror::without_edge : Mirror::with_edge;
  }
};

Result<std::vector<int64_t>> mirror_rows(const Tensor& paddings, int rank) {
  const Shape& shape = paddings.shape();
  if (shape.rank() != 2 || shape.dim(1) != 2)
    return invalid("paddings must be a matrix with 2 columns: ", shape.to_string());
  if (shape.dim(0) != rank) {
    return invalid("The first dimension of paddings must be the rank of inputs: ", shape.dim(0),
                   " for rank ", rank);
  }
  return read_elements(paddings, "paddings");
}

// The length of a padded axis; of what is padded to it, if `shrinks`.
enum class Resize : uint8_t { grows, shrinks };
Result<int64_t> mirrored_dim(int64_t dim, int64_t before, int64_t after, Mirror mirror,
                             Resize resize) {
  if (before < 0 || after < 0)
    return invalid("paddings must be non-negative: ", before, " ", after);
  if (dim == kUnknownDim) return kUnknownDim;
  int64_t added = 0, padded = 0;
  if (__builtin_add_overflow(before, after, &added) || __builtin_add_overflow(dim, added, &padded))
    return invalid("paddings ", before, " ", after, " are too large");
  const int64_t inner = resize == Resize::grows ? dim : dim - added;
  const int64_t most = inner - (mirror == Mirror::without_edge ? 1 : 0);
  if (inner < 0 || before > most || after > most) {
    return invalid("paddings must be ",
                   mirror == Mirror::without_edge ? "less than" : "no greater than",
                   " the dimension size: ", before, ", ", after, " ",
                   resize == Resize::grows ? "not fitting " : "giving ", inner);
  }
  return resize == Resize::grows ? padded : inner;
}

// Where each element of a padded axis comes from.
std::vector<int64_t> mirrored_from(int64_t dim, int64_t before, int64_t padded, Mirror mirror) {
  std::vector<int64_t> from;
  const int64_t edge = mirror == Mirror::without_edge ? 0 : 1;
  for (int64_t i = 0; i < padded; ++i) {
    int64_t at = i - before;
    if (at < 0) at = -at - edge;
    if (at >= dim) at = 2 * (dim - 1) - at + edge;
    from.push_back(at);
  }
  return from;
}

// A tensor of no elements, of another length along an axis: there may be any number of rows.
Result<Tensor> empty_with(const Tensor& like, int axis, int64_t length) {
  std::vector<int64_t> dims(like.shape().dims().begin(), like.shape().dims().end());
  dims[static_cast<size_t>(axis)] = length;
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  return Tensor::zeros(like.dtype(), shape);
}

Result<Tensor> mirror_pad(KernelContext& context, Mirror mirror) {
  Tensor padded = context.input(0);
  const int rank = padded.shape().rank();
  MR_ASSIGN(const std::vector<int64_t> rows, mirror_rows(context.input(1), rank));
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t dim = padded.shape().dim(axis), before = rows[static_cast<size_t>(axis) * 2];
    MR_ASSIGN(const int64_t wide, mirrored_dim(dim, before, rows[static_cast<size_t>(axis) * 2 + 1],
                                               mirror, Resize::grows));
    if (wide == dim) continue;
    if (padded.num_elements() == 0) {
      MR_ASSIGN(padded, empty_with(padded, axis, wide));
      continue;
    }
    const std::vector<int64_t> from = mirrored_from(dim, before, wide, mirror);
    const Tensor indices = Tensor::vector<int64_t>(std::span<const int64_t>(from));
    MR_ASSIGN(padded, gather(context, padded, indices, axis, 0));
  }
  return padded;
}

// Folds each axis back: what was put around is added to where it came from.
Result<Tensor> mirror_pad_grad(KernelContext& context, cpu::BinaryLoop add, Mirror mirror) {
  Tensor folded = context.input(0);
  const int rank = folded.shape().rank();
  MR_ASSIGN(const std::vector<int64_t> rows, mirror_rows(context.input(1), rank));
  const auto size = static_cast<int64_t>(dtype_size(folded.dtype()));
  CancelProbe probe(context);
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t wide = folded.shape().dim(axis), before = rows[static_cast<size_t>(axis) * 2];
    MR_ASSIGN(const int64_t dim, mirrored_dim(wide, before, rows[static_cast<size_t>(axis) * 2 + 1],
                                              mirror, Resize::shrinks));
    if (wide == dim) continue;
    if (folded.num_elements() == 0) {
      MR_ASSIGN(folded, empty_with(folded, axis, dim));
      continue;
    }
    const std::vector<int64_t> to_row = mirrored_from(dim, before, wide, mirror);
    std::vector<int64_t> dims(folded.shape().dims().begin(), folded.shape().dims().end());
    dims[static_cast<size_t>(axis)] = dim;
    MR_ASSIGN(const Shape shape, Shape::create(dims));
    MR_ASSIGN(Tensor made, Tensor::zeros(folded.dtype(), shape));
    const AlongAxis along(folded.shape(), axis);
    const int64_t bytes = along.inner * size;
    const char* from = static_cast<const char*>(folded.data());
    char* to = static_cast<char*>(made.mutable_data());
    for (int64_t outer = 0; outer < along.outer; ++outer, to += dim * bytes) {
      for (int64_t i = 0; i < wide; ++i, from += bytes) {
        char* row = to + to_row[static_cast<size_t>(i)] * bytes;
        add(row, 1, from, 1, row, along.inner);
        if (!probe.go_on(along.inner)) return probe.status();
      }
    }
    folded = std::move(made);
  }
  return folded;
}

Status infer_mirrored(InferContext& context, Resize resize) {
  const PartialShape& input = context.input(0);
  MR_TRY(context.input_of_rank(1, 2));
  if (!input.has_rank()) return {};
  const Tensor* paddings = context.constant(1);
  if (paddings == nullptr) {
    context.set_output(0, PartialShape::of_rank(input.rank()));
    return {};
  }
  MR_ASSIGN(const Mirror mirror, BoundMirror::from(context.attrs()));
  MR_ASSIGN(const std::vector<int64_t> rows, mirror_rows(*paddings, input.rank()));
  std::vector<int64_t> dims;
  for (int axis = 0; axis < input.rank(); ++axis) {
    const size_t at = static_cast<size_t>(axis) * 2;
    MR_ASSIGN(const int64_t dim,
              mirrored_dim(input.dim(axis), rows[at], rows[at + 1], mirror, resize));
    dims.push_back(dim);
  }
  return context.set_output(0, PartialShape::create(dims));
}

Status register_mirrors(OpRegistry& ops) {
  const std::string signature =
      "input: T, paddings: Tpaddings -> output: T | T: type, "
      "Tpaddings: {int32, int64} = int32, "
      "mode: {'REFLECT', 'SYMMETRIC'}";
  MR_TRY(ops.add({
      .name = "MirrorPad",
      .doc = "The input with its own mirror image around it; with SYMMETRIC the edge is repeated, "
             "with REFLECT it is the mirror.",
      .signature = signature,
      .infer = [](InferContext& context) { return infer_mirrored(context, Resize::grows); },
      .cpu = kernel_with(mirror_pad, BoundMirror()),
      .grad = grad::mirror_pad,
      .examples = {"[1 2 3], [[2 1]] -> [3 2 1 2 3 2] | mode = 'REFLECT', T = float",
                   "[[1 2] [3 4]], [[1 0] [0 2]] -> [[1 2 2 1] [1 2 2 1] [3 4 4 3]] | "
                   "mode = 'SYMMETRIC', T = int32"},
  }));
  return ops.add({
      .name = "MirrorPadGrad",
      .doc = "The gradient of MirrorPad: what is around is added to where it came from.",
      .signature = signature,
      .infer = [](InferContext& context) { return infer_mirrored(context, Resize::shrinks); },
      .cpu = kernel_with(mirror_pad_grad, cpu::LoopFor{cpu::addition_loop}, BoundMirror()),
      .grad = grad::mirror_pad_grad,
      .examples = {"[1 2 3 4 5], [[1 1]] -> [2 9 4] | mode = 'REFLECT', T = float",
                   "[1 2 3 4 5], [[1 1]] -> [3 3 9] | mode = 'SYMMETRIC', T = float"},
  });
}

}  // namespace

Status register_moves(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Roll",
      .doc = "The input with its elements moved on by shift along each axis, those at the end to "
             "the beginning.",
      .signature = "input: T, shift: Tshift, axis: Taxis -> output: T | T: type, "
                   "Tshift: {int32, int64}, Taxis: {int32, int64}",
      .infer = infer_roll,
      .cpu = kernel(roll),
      .grad = grad::roll,
      .examples = {"[0 1 2 3 4], 2, 0 -> [3 4 0 1 2] | T = float",
                   "[[0 1 2] [3 4 5]], [1 -2], [0 1] -> [[5 3 4] [2 0 1]] | T = float"},
  }));
  MR_TRY(ops.add({
      .name = "ReverseSequence",
      .doc =
          "The input with the first seq_lengths[i] elements along seq_dim in the opposite order, "
          "for each i along batch_dim.",
      .signature = "input: T, seq_lengths: Tlen -> output: T | seq_dim: int, batch_dim: int = 0, "
                   "T: type, Tlen: {int32, int64} = int64",
      .infer = infer_reverse_sequence,
      .cpu = kernel_with(reverse_sequence, integer("seq_dim"), integer("batch_dim")),
      .grad = grad::reverse_sequence,
      .examples = {"[[1 2 3] [4 5 6]], [2 3] -> [[2 1 3] [6 5 4]] | seq_dim = 1",
                   "[[1 2] [3 4]], [0 2] -> [[1 4] [3 2]] | seq_dim = 0, batch_dim = 1"},
  }));
  return register_mirrors(ops);
}

}  // namespace millrace

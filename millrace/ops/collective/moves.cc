// Part of families.h: register_collective_moves.
#include <algorithm>
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/ops/collective/collective_kernel.h"
#include "millrace/ops/collective/families.h"
#include "millrace/ops/loops/arguments.h"

namespace millrace {
namespace {

// A kernel class that is made from nothing but its keys.
template <class K>
Result<std::unique_ptr<Kernel>> from_keys(const KernelSpec& spec) {
  MR_ASSIGN(CollectiveKeys keys, CollectiveKeys::read(spec));
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::move(keys)));
}

class GatherKernel final : public CollectiveKernel {
 public:
  explicit GatherKernel(CollectiveKeys keys) : CollectiveKernel(std::move(keys)) {}

 protected:
  Result<std::string> prepare(KernelContext& context, int64_t) const override {
    const Shape& shape = context.input(0).shape();
    if (shape.rank() < 1)
      return invalid("the input of a gather must have rank 1 at least, but is a scalar");
    return str_cat("gather of ", spec_text(context.input(0).dtype(), shape));
  }

  Result<Score> compose(KernelContext& context, const Seat& seat) const override {
    MR_ASSIGN(const Tensor input, shareable(context, 0));
    const auto size = static_cast<size_t>(seat.size);
    Score score{.dtype = input.dtype()};
    score.chunks.resize(size);
    score.lengths.assign(size, input.num_elements());
    MR_ASSIGN(score.chunks[static_cast<size_t>(seat.rank)], input.reshaped({input.num_elements()}));
    if (seat.size > 1) score.lanes.push_back(ring_gather(seat.rank, seat.size));
    return score;
  }

  Status finish(KernelContext& context, const Seat& seat,
                std::vector<Tensor> chunks) const override {
    const Shape& shape = context.input(0).shape();
    if (shape.dim(0) > 0 && std::numeric_limits<int64_t>::max() / shape.dim(0) < seat.size)
      return invalid("the gather of ", seat.size, " tensors of ", shape.dim(0),
                     " rows has too many of them");
    MR_ASSIGN(const Shape whole, with_rows(shape, shape.dim(0) * seat.size));
    return context.set_output(0, join(chunks, whole));
  }
};

class AllToAllKernel final : public CollectiveKernel {
 public:
  explicit AllToAllKernel(CollectiveKeys keys) : CollectiveKernel(std::move(keys)) {}

 protected:
  Result<std::string> prepare(KernelContext& context, int64_t group_size) const override {
    const Shape& shape = context.input(0).shape();
    if (shape.rank() < 1)
      return invalid("input to all-to-all must be at least rank 1, but is a scalar");
    if (shape.dim(0) != group_size)
      return invalid("input to all-to-all first dimension size (", shape.dim(0),
                     ") must be the same as the group size (", group_size, ")");
    return str_cat("all-to-all of ", spec_text(context.input(0).dtype(), shape));
  }

  Result<Score> compose(KernelContext& context, const Seat& seat) const override {
    MR_ASSIGN(const Tensor input, shareable(context, 0));
    const auto size = static_cast<size_t>(seat.size);
    Score score{.dtype = input.dtype()};
    MR_ASSIGN(score.chunks, cut(input, seat.size));
    score.chunks.resize(2 * size);
    score.lengths.assign(2 * size, input.num_elements() / seat.size);
    const auto own = static_cast<size_t>(seat.rank);
    score.chunks[size + own] = score.chunks[own];
    if (seat.size > 1) score.lanes.push_back(all_to_all(seat.rank, seat.size));
    return score;
  }

  Status finish(KernelContext& context, const Seat& seat,
                std::vector<Tensor> chunks) const override {
    chunks.erase(chunks.begin(), chunks.begin() + seat.size);
    return context.set_output(0, join(chunks, context.input(0).shape()));
  }
};

// The tree of a broadcast, each lane with a part of the tensor.
Score broadcast_score(DType dtype, int64_t num_elements, const Seat& seat) {
  Score score{.dtype = dtype};
  const int64_t lanes = lanes_for(static_cast<size_t>(num_elements) * dtype_size(dtype));
  score.lengths = cut_lengths(num_elements, lanes);
  score.chunks.resize(static_cast<size_t>(lanes));
  for (int lane = 0; lane < lanes && seat.size > 1; ++lane)
    score.lanes.push_back(tree_broadcast(seat.rank, seat.size, seat.source, lane));
  return score;
}

std::string broadcast_signature(DType dtype, const Shape& shape) {
  return str_cat("broadcast of ", spec_text(dtype, shape));
}

class BroadcastSendKernel final : public CollectiveKernel {
 public:
  BroadcastSendKernel(CollectiveKeys keys, PartialShape declared)
      : CollectiveKernel(std::move(keys)), declared_(std::move(declared)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(CollectiveKeys keys, CollectiveKeys::read(spec));
    PartialShape declared;
    if (spec.attrs.op().find_attr("shape") != nullptr) {
      MR_ASSIGN(declared, spec.attrs.shape("shape"));
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<BroadcastSendKernel>(std::move(keys), std::move(declared)));
  }

 protected:
  Result<std::string> prepare(KernelContext& context, int64_t) const override {
    const Tensor& input = context.input(0);
    if (!declared_.allows(input.shape()))
      return internal("Declared shape of op ", context.node_name(), ", ", declared_.to_string(),
                      ", does not match shape of input, ", input.shape().to_string());
    return broadcast_signature(input.dtype(), input.shape());
  }
  CollectiveCall::Part part() const override { return CollectiveCall::Part::sends; }

  Result<Score> compose(KernelContext& context, const Seat& seat) const override {
    MR_ASSIGN(const Tensor input, shareable(context, 0));
    Score score = broadcast_score(input.dtype(), input.num_elements(), seat);
    MR_ASSIGN(score.chunks, cut(input, static_cast<int64_t>(score.lengths.size())));
    return score;
  }

  Status finish(KernelContext& context, const Seat&, std::vector<Tensor>) const override {
    context.set_output(0, context.input(0));
    return {};
  }

 private:
  const PartialShape declared_;
};

class BroadcastReceiveKernel final : public CollectiveKernel {
 public:
  BroadcastReceiveKernel(CollectiveKeys keys, std::optional<Shape> declared)
      : CollectiveKernel(std::move(keys)), declared_(std::move(declared)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(CollectiveKeys keys, CollectiveKeys::read(spec));
    std::optional<Shape> declared;
    if (spec.attrs.op().find_attr("shape") != nullptr) {
      MR_ASSIGN(const PartialShape shape, spec.attrs.shape("shape"));
      declared = shape.to_shape();
      if (!declared)
        return invalid("'", spec.node_name, "' must say what it receives, but its shape is ",
                       shape.to_string());
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<BroadcastReceiveKernel>(std::move(keys), std::move(declared)));
  }

 protected:
  Result<std::string> prepare(KernelContext& context, int64_t) const override {
    MR_ASSIGN(const Shape shape, shape_of(context));
    return broadcast_signature(context.output_dtype(0), shape);
  }
  CollectiveCall::Part part() const override { return CollectiveCall::Part::receives; }

  Result<Score> compose(KernelContext& context, const Seat& seat) const override {
    MR_ASSIGN(const Shape shape, shape_of(context));
    return broadcast_score(context.output_dtype(0), shape.num_elements(), seat);
  }

  Status finish(KernelContext& context, const Seat&, std::vector<Tensor> chunks) const override {
    MR_ASSIGN(const Shape shape, shape_of(context));
    return context.set_output(0, join(chunks, shape));
  }

 private:
  Result<Shape> shape_of(const KernelContext& context) const {
    return declared_ ? Result<Shape>(*declared_) : read_shape(context.input(3), "shape");
  }

  const std::optional<Shape> declared_;
};

Status infer_gathered(InferContext& context) {
  const PartialShape& input = context.input(0);
  if (!input.has_rank()) return {};
  if (input.rank() < 1) return invalid("Shape must be at least rank 1 but is rank 0");
  std::vector<int64_t> dims(input.dims().begin(), input.dims().end());
  // A node of the first version knows the size; its attribute "shape" is often left empty.
  dims[0] = kUnknownDim;
  return context.set_output(0, PartialShape::create(dims));
}

Status infer_received(InferContext& context) { return infer_shape_of(context, "shape", 3); }

}  // namespace

Status register_collective_moves(OpRegistry& ops) {
  const std::string numbers = "T: {float, half, double, int32, int64}";
  const std::string values = "T: {bool, float, half, double, int32, int64}";
  const std::string first =
      ", " + std::string(kKeysInAttributes) + ", shape: shape, " + std::string(kManners);
  const std::string keys = std::string(kKeysInInputs);
  const std::string tokens = ", ordering_token: Nordering_token*resource";
  const std::string second = ", " + std::string(kManners);
  const std::string ordered = second + ", " + std::string(kOrder);
  MR_TRY(ops.add(collective_op({
      .name = "CollectiveGather",
      .doc = "The tensors of all members of a group, one after the other along the first axis.",
      .signature = "input: T -> data: T | " + numbers + first,
      .infer = infer_gathered,
      .cpu = from_keys<GatherKernel>,
      .examples = {"[1 2] -> [1 2] | group_size = 1, group_key = 1, instance_key = 1, shape = [2]"},
  })));
  MR_TRY(ops.add(collective_op({
      .name = "CollectiveGatherV2",
      .doc = "CollectiveGather with the group and the instance as inputs.",
      .signature = "input: T, " + keys + tokens + " -> data: T | " + numbers + ordered,
      .infer = infer_gathered,
      .cpu = from_keys<GatherKernel>,
      .examples = {"[1 2], 1, 1, 1 -> [1 2]"},
  })));
  MR_TRY(ops.add(collective_op({
      .name = "CollectiveAllToAllV2",
      .doc = "Row r of each member's tensor goes to member r, which gets them in order of members.",
      .signature = "input: T, " + keys + tokens +
                   " -> data: T | T: {bfloat16, float, half, double, int32, int64}" + ordered,
      .infer = infer::same_as_input,
      .cpu = from_keys<AllToAllKernel>,
      .examples = {"[5], 1, 1, 1 -> [5]"},
  })));
  MR_TRY(ops.add(collective_op({
      .name = "CollectiveBcastSend",
      .doc = "Gives a tensor to all other members of a group, which have a CollectiveBcastRecv.",
      .signature = "input: T -> data: T | " + values + first,
      .infer = infer::same_as_input,
      .cpu = kernel_class<BroadcastSendKernel>(),
      .examples = {"[1 0] -> [1 0] | group_size = 1, group_key = 1, instance_key = 1, shape = [2]"},
  })));
  MR_TRY(ops.add(collective_op({
      .name = "CollectiveBcastRecv",
      .doc = "The tensor that one member of the group gives with a CollectiveBcastSend.",
      .signature = "-> data: T | " + values + first,
      .infer = infer::shape_attr,
      .cpu = kernel_class<BroadcastReceiveKernel>(),
  })));
  MR_TRY(ops.add(collective_op({
      .name = "CollectiveBcastSendV2",
      .doc = "CollectiveBcastSend with the group and the instance as inputs.",
      .signature = "input: T, " + keys + " -> data: T | " + values + second,
      .infer = infer::same_as_input,
      .cpu = kernel_class<BroadcastSendKernel>(),
      .examples = {"[1 0], 1, 1, 1 -> [1 0]"},
  })));
  return ops.add(collective_op({
      .name = "CollectiveBcastRecvV2",
      .doc = "CollectiveBcastRecv with the group, the instance and the shape as inputs.",
      .signature = keys + ", shape: Tshape -> data: T | " + values +
                   ", Tshape: {int32, int64} = int32" + second,
      .infer = infer_received,
      .cpu = kernel_class<BroadcastReceiveKernel>(),
  }));
}

}  // namespace millrace

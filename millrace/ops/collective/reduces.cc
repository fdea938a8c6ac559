// Part of families.h: register_collective_reduces.
#include <algorithm>
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/ops/collective/collective_kernel.h"
#include "millrace/ops/collective/families.h"

namespace millrace {
namespace {

// Up to here a tensor goes whole, in as few exchanges as can be; above, in parts around a ring, so
// that each member sends no more than twice its size. Two members send the same in both ways.
constexpr size_t kWholeBytes = 64 << 10;
constexpr size_t kWholeBytesOfTwo = 256 << 10;

// Between members on one machine: what is in the cache of one processor is quickly read by the
// other one.
constexpr size_t kNearChunk = 128 << 10;
constexpr size_t kNearAbreast = 2;
// A few members near each other give everybody what is his, so that each waits for the others
// once or twice; up to so many bytes everything is everybody's.
constexpr size_t kFlatBytes = 8 << 10;
constexpr int kFlatSize = 16;

struct Reduction {
  MergeOp merge_op = MergeOp::add;
  std::string merge_name;
  bool divides = false;

  static Result<Reduction> read(const KernelSpec& spec) {
    Reduction made;
    MR_ASSIGN(made.merge_name, spec.attrs.string("merge_op"));
    MR_ASSIGN(made.merge_op, merge_op_named(made.merge_name));
    MR_ASSIGN(const std::string final_op, spec.attrs.string("final_op"));
    made.divides = final_op == "Div";
    return made;
  }
  Result<Tensor> finished(Tensor sum, int size) const {
    return divides ? divide(std::move(sum), size) : Result<Tensor>(std::move(sum));
  }
};

class ReduceKernel final : public CollectiveKernel {
 public:
  ReduceKernel(CollectiveKeys keys, Reduction reduction, std::string hint)
      : CollectiveKernel(std::move(keys)),
        reduction_(std::move(reduction)),
        hint_(std::move(hint)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(CollectiveKeys keys, CollectiveKeys::read(spec));
    MR_ASSIGN(Reduction reduction, Reduction::read(spec));
    MR_ASSIGN(std::string hint, spec.attrs.string("communication_hint"));
    return std::unique_ptr<Kernel>(
        std::make_unique<ReduceKernel>(std::move(keys), std::move(reduction), std::move(hint)));
  }

 protected:
  Result<std::string> prepare(KernelContext& context, int64_t) const override {
    // Whoever is told to go another way than the others would never meet them.
    return str_cat("reduce ", reduction_.merge_name, " ",
                   hint_ == "ring" || hint_ == "tree" ? hint_ : "auto", " of ",
                   spec_text(context.input(0).dtype(), context.input(0).shape()));
  }

  Result<Score> compose(KernelContext& context, const Seat& seat) const override {
    MR_ASSIGN(const Tensor input, shareable(context, 0));
    Score score{.dtype = input.dtype(), .merge_op = reduction_.merge_op};
    if (goes_flat(input.num_bytes(), seat)) {
      score.chunks.resize(static_cast<size_t>(seat.size));
      MR_ASSIGN(score.chunks[static_cast<size_t>(seat.rank)],
                input.reshaped({input.num_elements()}));
      score.lengths.assign(static_cast<size_t>(seat.size), input.num_elements());
      score.lanes.push_back(flat_gather(seat.rank, seat.size));
      return score;
    }
    const bool goes_whole = sends_whole(input.num_bytes(), seat);
    const int64_t lanes = goes_whole ? 1 : lanes_of(input.num_bytes(), seat);
    const int64_t chunks = goes_whole ? 1 : lanes * seat.size;
    MR_ASSIGN(score.chunks, cut(input, chunks));
    score.lengths = cut_lengths(input.num_elements(), chunks);
    if (seat.size == 1) return score;
    if (!goes_whole) {
      score.lane_chunks = seat.size;
      if (seat.is_near) score.abreast = kNearAbreast;
      MR_ASSIGN(score.whole, Tensor::allocate(input.dtype(), {input.num_elements()}));
    }
    for (int lane = 0; lane < lanes; ++lane) {
      const int first = lane * seat.size;
      score.lanes.push_back(goes_whole      ? halving_reduce(seat.rank, seat.size)
                            : is_flat(seat) ? flat_all_reduce(seat.rank, seat.size, first)
                                            : ring_all_reduce(seat.rank, seat.size, first));
    }
    return score;
  }

  Status finish(KernelContext& context, const Seat& seat,
                std::vector<Tensor> chunks) const override {
    if (goes_flat(context.input(0).num_bytes(), seat)) {
      // In order of ranks, for all the same.
      for (size_t i = 1; i < chunks.size(); ++i) {
        MR_ASSIGN(chunks[0],
                  merge(reduction_.merge_op, std::move(chunks[0]), std::move(chunks[i])));
      }
      chunks.resize(1);
    }
    MR_ASSIGN(Tensor whole, join(chunks, context.input(0).shape()));
    chunks.clear();
    return context.set_output(0, reduction_.finished(std::move(whole), seat.size));
  }

 private:
  static int64_t lanes_of(size_t bytes, const Seat& seat) {
    const size_t each = bytes / static_cast<size_t>(seat.size);
    if (!seat.is_near) return lanes_for(each);
    return std::max<int64_t>(1, static_cast<int64_t>((each + kNearChunk - 1) / kNearChunk));
  }
  // Whether members give to each other without detours.
  bool is_flat(const Seat& seat) const {
    return seat.is_near && seat.size <= kFlatSize && hint_ != "ring" && hint_ != "tree";
  }
  bool goes_flat(size_t bytes, const Seat& seat) const {
    return is_flat(seat) && seat.size > 2 && bytes <= kFlatBytes;
  }
  bool sends_whole(size_t bytes, const Seat& seat) const {
    if (seat.size == 1 || hint_ == "tree") return true;
    if (hint_ == "ring") return false;
    if (seat.size == 2) return bytes <= kWholeBytesOfTwo;
    return bytes <= kWholeBytes && !is_flat(seat);
  }

  const Reduction reduction_;
  const std::string hint_;
};

class ReduceScatterKernel final : public CollectiveKernel {
 public:
  ReduceScatterKernel(CollectiveKeys keys, Reduction reduction)
      : CollectiveKernel(std::move(keys)), reduction_(std::move(reduction)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(CollectiveKeys keys, CollectiveKeys::read(spec));
    MR_ASSIGN(Reduction reduction, Reduction::read(spec));
    return std::unique_ptr<Kernel>(
        std::make_unique<ReduceScatterKernel>(std::move(keys), std::move(reduction)));
  }

 protected:
  Result<std::string> prepare(KernelContext& context, int64_t group_size) const override {
    const Shape& shape = context.input(0).shape();
    if (shape.rank() < 1)
      return invalid("the input of a reduce-scatter must have rank 1 at least, but is a scalar");
    if (shape.dim(0) % group_size != 0)
      return invalid("the input's first dimension, ", shape.dim(0),
                     ", must be a multiple of the group size, ", group_size);
    return str_cat("reduce-scatter ", reduction_.merge_name, " of ",
                   spec_text(context.input(0).dtype(), shape));
  }

  Result<Score> compose(KernelContext& context, const Seat& seat) const override {
    MR_ASSIGN(const Tensor input, shareable(context, 0));
    Score score{.dtype = input.dtype(), .merge_op = reduction_.merge_op};
    MR_ASSIGN(score.chunks, cut(input, seat.size));
    score.lengths = cut_lengths(input.num_elements(), seat.size);
    if (seat.size > 1) score.lanes.push_back(ring_reduce(seat.rank, seat.size));
    return score;
  }

  Status finish(KernelContext& context, const Seat& seat,
                std::vector<Tensor> chunks) const override {
    const Shape& whole = context.input(0).shape();
    MR_ASSIGN(const Shape shape, with_rows(whole, whole.dim(0) / seat.size));
    Tensor own = std::move(chunks[static_cast<size_t>(seat.rank)]);
    chunks.clear();
    MR_ASSIGN(own, own.reshaped(shape));
    return context.set_output(0, reduction_.finished(std::move(own), seat.size));
  }

 private:
  const Reduction reduction_;
};

Status infer_scattered(InferContext& context) {
  const PartialShape& input = context.input(0);
  const Tensor* group_size = context.constant(1);
  if (!input.has_rank()) return {};
  if (input.rank() < 1) return invalid("Shape must be at least rank 1 but is rank 0");
  std::vector<int64_t> dims(input.dims().begin(), input.dims().end());
  const bool is_known = group_size != nullptr && group_size->shape().is_scalar() &&
                        group_size->item<int32_t>() > 0 && dims[0] != kUnknownDim;
  dims[0] = is_known ? dims[0] / group_size->item<int32_t>() : kUnknownDim;
  return context.set_output(0, PartialShape::create(dims));
}

}  // namespace

Status register_collective_reduces(OpRegistry& ops) {
  const std::string how =
      "T: {bfloat16, float, half, double, int32, int64}, merge_op: {'Min', 'Max', 'Mul', 'Add'}, "
      "final_op: {'Id', 'Div'}";
  MR_TRY(ops.add(collective_op({
      .name = "CollectiveReduce",
      .doc = "The merge of the tensors of all members of a group, the same on each of them; with "
             "final_op Div divided by their number.",
      .signature = "input: T -> data: T | " + how + ", " + std::string(kKeysInAttributes) +
                   ", subdiv_offsets: list(int), wait_for: list(int) = {}, " +
                   std::string(kManners),
      .infer = infer::same_as_input,
      .cpu = kernel_class<ReduceKernel>(),
      .examples = {"[1 2] -> [1 2] | group_size = 1, group_key = 1, instance_key = 1, "
                   "merge_op = 'Add', final_op = 'Div', subdiv_offsets = {0}"},
  })));
  const std::string second = ", " + std::string(kManners) + ", " + std::string(kOrder) +
                             ", max_subdivs_per_device: int = -1";
  MR_TRY(ops.add(collective_op({
      .name = "CollectiveReduceV2",
      .doc = "CollectiveReduce with the group and the instance as inputs.",
      .signature = "input: T, " + std::string(kKeysInInputs) +
                   ", ordering_token: Nordering_token*resource -> data: T | " + how + second,
      .infer = infer::same_as_input,
      .cpu = kernel_class<ReduceKernel>(),
      .examples = {"[1 2], 1, 1, 1 -> [1 2] | merge_op = 'Max', final_op = 'Id'"},
  })));
  return ops.add(collective_op({
      .name = "CollectiveReduceScatterV2",
      .doc = "Merges the tensors of all members of a group, and gives each member its share of the "
             "rows.",
      .signature = "input: T, " + std::string(kKeysInInputs) +
                   ", ordering_token: Nordering_token*resource -> data: T | " + how + second,
      .infer = infer_scattered,
      .cpu = kernel_class<ReduceScatterKernel>(),
      .examples = {"[1 2], 1, 1, 1 -> [1 2] | merge_op = 'Add', final_op = 'Id'"},
  }));
}

}  // namespace millrace

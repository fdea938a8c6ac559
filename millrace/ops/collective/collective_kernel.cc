#include "millrace/ops/collective/collective_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "millrace/ops/loops/arguments.h"

namespace millrace {
namespace {

constexpr size_t kLaneBytes = 512 << 10;
constexpr int64_t kMostLanes = 8;
constexpr int64_t kLargestGroup = 1 << 20;

Result<int64_t> key_at(const KernelContext& context, int slot, std::string_view what) {
  const Tensor& tensor = context.input(slot);
  if (!tensor.shape().is_scalar())
    return invalid("Unexpected dimensions on input ", what, ": it has shape ",
                   tensor.shape().to_string(), " and must be a scalar");
  return read_integer(tensor, what);
}

Status check_size(int64_t size) {
  if (size <= 0) return invalid("group_size must be positive integer but got ", size);
  if (size > kLargestGroup)
    return invalid("group_size is ", size, "; a group has ", kLargestGroup, " members at most");
  return {};
}

}  // namespace

Result<CollectiveKeys> CollectiveKeys::read(const KernelSpec& spec) {
  CollectiveKeys made;
  MR_ASSIGN(const float timeout, spec.attrs.real("timeout_seconds"));
  if (std::isnan(timeout)) return invalid("timeout_seconds must be a number, but is nan");
  // A century is as good as for ever, and fits.
  made.call_.timeout = std::chrono::milliseconds(
      static_cast<int64_t>(std::clamp(double{timeout}, 0.0, 3.2e9) * 1000.0));
  if (spec.attrs.op().find_attr("group_key") == nullptr) {
    const auto& inputs = spec.attrs.op().inputs;
    const auto first = std::ranges::find(inputs, "group_size", &ArgDef::name);
    if (first == inputs.end())
      return internal("op ", spec.attrs.op().name, " says nowhere which group it means");
    made.first_slot_ = static_cast<int>(first - inputs.begin());
    return made;
  }
  MR_ASSIGN(made.call_.group_size, spec.attrs.integer("group_size"));
  MR_ASSIGN(made.call_.group_key, spec.attrs.integer("group_key"));
  MR_ASSIGN(made.call_.instance_key, spec.attrs.integer("instance_key"));
  MR_TRY(check_size(made.call_.group_size));
  return made;
}

Result<CollectiveCall> CollectiveKeys::call(const KernelContext& context) const {
  CollectiveCall call = call_;
  if (first_slot_ == kInAttributes) return call;
  MR_ASSIGN(call.group_size, key_at(context, first_slot_, "group_size"));
  MR_ASSIGN(call.group_key, key_at(context, first_slot_ + 1, "group_key"));
  MR_ASSIGN(call.instance_key, key_at(context, first_slot_ + 2, "instance_key"));
  MR_TRY(check_size(call.group_size));
  return call;
}

Result<std::shared_ptr<const std::string>> CollectiveKernel::signature_of(KernelContext& context,
                                                                          int64_t size) {
  const bool is_remembered = part() == CollectiveCall::Part::equal;
  if (is_remembered) {
    const Tensor& brought = context.input(0);
    MutexLock lock(mutex_);
    if (last_.signature != nullptr && last_.group_size == size && last_.dtype == brought.dtype() &&
        last_.shape == brought.shape())
      return last_.signature;
  }
  MR_ASSIGN(std::string text, prepare(context, size));
  auto signature = std::make_shared<const std::string>(std::move(text));
  if (is_remembered) {
    const Tensor& brought = context.input(0);
    MutexLock lock(mutex_);
    last_ = {size, brought.dtype(), brought.shape(), signature};
  }
  return signature;
}

void CollectiveKernel::start(KernelContext& context, Done<void> done) {
  auto call = keys_.call(context);
  if (!call.ok()) return done(call.status());
  auto signature = signature_of(context, call->group_size);
  if (!signature.ok()) return done(signature.status());
  call->signature = *std::move(signature);
  call->part = part();
  if (call->group_size == 1) {
    if (call->part == CollectiveCall::Part::receives)
      return done(invalid("'", context.node_name(), "' is to receive from another member, but ",
                          "group_size is 1"));
    return meet(context, {}, nullptr, std::move(done));
  }
  ResourceStore* resources =
      context.step().device != nullptr ? context.step().device->resources : nullptr;
  if (resources == nullptr)
    return done(
        failed_precondition("'", context.node_name(), "' can't run here: there is nobody to meet"));
  auto collectives = resources->find<Collectives>(Collectives::kContainer, "");
  if (!collectives.ok())
    return done(failed_precondition("'", context.node_name(), "' can't run here: its device has ",
                                    "no way to others (", collectives.status().message(), ")"));
  (*collectives)
      ->begin(
          *call, context,
          Done<std::shared_ptr<Exchange>>([this, &context, done = std::move(done)](
                                              Result<std::shared_ptr<Exchange>> exchange) mutable {
            if (!exchange.ok()) return done(exchange.status());
            const Seat seat{(*exchange)->rank(), (*exchange)->size(), (*exchange)->source(),
                            (*exchange)->is_near()};
            meet(context, seat, *std::move(exchange), std::move(done));
          }));
}

void CollectiveKernel::meet(KernelContext& context, const Seat& seat,
                            std::shared_ptr<Exchange> exchange, Done<void> done) const {
  auto score = compose(context, seat);
  if (exchange == nullptr) {
    if (!score.ok()) return done(score.status());
    return done(finish(context, seat, std::move(score->chunks)));
  }
  if (!score.ok()) {
    Status why = std::move(score).status();
    exchange->fail(why);
    return exchange->end(std::move(why), std::move(done));
  }
  play(context, std::move(exchange), *std::move(score),
       Done<std::vector<Tensor>>([this, &context, seat, done = std::move(done)](
                                     Result<std::vector<Tensor>> chunks) mutable {
         if (!chunks.ok()) return done(chunks.status());
         done(finish(context, seat, *std::move(chunks)));
       }));
}

OpDef collective_op(OpDef op) {
  op.stateful = true;
  op.foldable = false;
  op.not_differentiable = "other members have parts in it whose gradients are not in this graph";
  return op;
}

Result<Shape> with_rows(const Shape& shape, int64_t rows) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[0] = rows;
  return Shape::create(dims);
}

std::string spec_text(DType dtype, const Shape& shape) {
  return str_cat(dtype_name(dtype), shape.to_string());
}

Result<Tensor> shareable(KernelContext& context, int slot) { return context.input(slot).kept(); }

std::vector<int64_t> cut_lengths(int64_t num_elements, int64_t count) {
  std::vector<int64_t> lengths(static_cast<size_t>(count), num_elements / count);
  for (int64_t i = 0; i < num_elements % count; ++i) ++lengths[static_cast<size_t>(i)];
  return lengths;
}

Result<std::vector<Tensor>> cut(const Tensor& tensor, int64_t count) {
  MR_ASSIGN(const Tensor flat, tensor.reshaped({tensor.num_elements()}));
  std::vector<Tensor> chunks;
  int64_t begin = 0;
  for (const int64_t length : cut_lengths(tensor.num_elements(), count)) {
    MR_ASSIGN(Tensor chunk, flat.rows(begin, begin + length));
    chunks.push_back(std::move(chunk));
    begin += length;
  }
  return chunks;
}

Result<Tensor> join(const std::vector<Tensor>& chunks, const Shape& shape) {
  if (chunks.size() == 1) return chunks[0].reshaped(shape);
  MR_ASSIGN(Tensor whole, Tensor::allocate(chunks[0].dtype(), shape));
  auto* to = static_cast<char*>(whole.mutable_data());
  for (const Tensor& chunk : chunks) {
    if (chunk.num_bytes() > 0) std::memcpy(to, chunk.data(), chunk.num_bytes());
    to += chunk.num_bytes();
  }
  return whole;
}

int64_t lanes_for(size_t bytes) {
  return std::clamp(static_cast<int64_t>(bytes / kLaneBytes), int64_t{1}, kMostLanes);
}

}  // namespace millrace

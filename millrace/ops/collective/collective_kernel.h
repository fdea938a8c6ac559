// CollectiveKernel: what the kernels of all collective ops have in common. It reads who is meant,
// begins the exchange, and lets the score be played that the op composes. A group of one needs
// nobody, so it needs no worker either.
#pragma once

#include <string>
#include <vector>

#include "millrace/ops/collective/play.h"

namespace millrace {

// Where a member sits in its group.
struct Seat {
  int rank = 0, size = 1;
  int source = 0;        // of a broadcast
  bool is_near = false;  // Exchange::is_near
};

// Where a node says which group and instance it means: in attributes, or, in the second versions of
// the ops, in the inputs group_size, group_key and instance_key, from this slot on.
class CollectiveKeys {
 public:
  // Errors: INVALID_ARGUMENT for attributes that are missing or make no sense.
  static Result<CollectiveKeys> read(const KernelSpec& spec);
  // With the values of this run. Errors: INVALID_ARGUMENT.
  Result<CollectiveCall> call(const KernelContext& context) const;

 private:
  static constexpr int kInAttributes = -1;
  CollectiveCall call_;
  int first_slot_ = kInAttributes;
};

class CollectiveKernel : public Kernel {
 public:
  bool is_async() const final { return true; }
  void start(KernelContext& context, Done<void> done) final;

 protected:
  explicit CollectiveKernel(CollectiveKeys keys) : keys_(std::move(keys)) {}

  // Checks this run's inputs and says what the member brings, as CollectiveCall::signature. Of
  // members who are equal that depends on the type and shape of input 0 and on the size alone.
  virtual Result<std::string> prepare(KernelContext& context, int64_t group_size) const = 0;
  virtual CollectiveCall::Part part() const { return CollectiveCall::Part::equal; }
  // What there is to do. No lanes: nothing.
  virtual Result<Score> compose(KernelContext& context, const Seat& seat) const = 0;
  // Makes the output of what the chunks are in the end.
  virtual Status finish(KernelContext& context, const Seat& seat,
                        std::vector<Tensor> chunks) const = 0;

 private:
  // What was brought last, and what that is called: most runs bring the same.
  struct Brought {
    int64_t group_size = 0;
    DType dtype = DType::invalid;
    Shape shape;
    std::shared_ptr<const std::string> signature;  // null: nothing yet
  };

  Result<std::shared_ptr<const std::string>> signature_of(KernelContext& context, int64_t size);
  void meet(KernelContext& context, const Seat& seat, std::shared_ptr<Exchange> exchange,
            Done<void> done) const;

  const CollectiveKeys keys_;
  Mutex mutex_;
  Brought last_ MR_GUARDED_BY(mutex_);
};

// What the signatures of these ops have in common: where they name the group and the instance, how
// they go about it, and in what order.
inline constexpr std::string_view kKeysInAttributes =
    "group_size: int, group_key: int, instance_key: int";
inline constexpr std::string_view kKeysInInputs =
    "group_size: int32, group_key: int32, instance_key: int32";
inline constexpr std::string_view kManners =
    "communication_hint: string = 'auto', timeout_seconds: float = 0.0";
inline constexpr std::string_view kOrder =
    "is_stateless: bool = false, Nordering_token: int >= 0 = 0";

// The op with what is true of all of them: it is never folded, merged or dropped, because others
// wait for it.
OpDef collective_op(OpDef op);

// The shape with another first dimension. Requires rank 1 at least.
Result<Shape> with_rows(const Shape& shape, int64_t rows);

// How a tensor is called in a signature: "float[2,3]".
std::string spec_text(DType dtype, const Shape& shape);

// An input that may be kept and handed out beyond the step that lends it. Errors:
// RESOURCE_EXHAUSTED.
Result<Tensor> shareable(KernelContext& context, int slot);

// The tensor as `count` vectors one after the other, of lengths that differ by one at most, on the
// same buffer.
Result<std::vector<Tensor>> cut(const Tensor& tensor, int64_t count);
std::vector<int64_t> cut_lengths(int64_t num_elements, int64_t count);
// The reverse. Errors: RESOURCE_EXHAUSTED.
Result<Tensor> join(const std::vector<Tensor>& chunks, const Shape& shape);

// Into how many pieces `bytes` are worth being cut that go their ways side by side.
int64_t lanes_for(size_t bytes);

}  // namespace millrace

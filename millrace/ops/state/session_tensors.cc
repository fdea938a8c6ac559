// Part of families.h: register_session_tensors.
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/resource_access.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

// Tensors that sessions left on a device, by their handles. A tensor belongs to the kernel that
// kept it: kernels of stateful nodes live as long as their session, and so does it.
class SessionTensors final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "session tensors";
  void keep(std::string handle, Tensor tensor, const Kernel* owner) {
    MutexLock lock(mutex_);
    kept_.insert_or_assign(std::move(handle), Kept{std::move(tensor), owner});
  }
  Result<Tensor> get(const std::string& handle) const {
    MutexLock lock(mutex_);
    const auto found = kept_.find(handle);
    if (found != kept_.end()) return found->second.tensor;
    return invalid("The tensor with handle '", handle, "' is not in the session store.");
  }
  Status drop(const std::string& handle) {
    Tensor dropped;  // dies without the lock: it may be the last to hold much
    MutexLock lock(mutex_);
    const auto found = kept_.find(handle);
    if (found == kept_.end())
      return invalid("Failed to delete a tensor with handle '", handle, "' in the session store.");
    dropped = std::move(found->second.tensor);
    kept_.erase(found);
    return {};
  }
  void drop_all_of(const Kernel* owner) {
    std::vector<Tensor> dropped;  // die without the lock
    MutexLock lock(mutex_);
    absl::erase_if(kept_, [&](auto& entry) {
      if (entry.second.owner != owner) return false;
      dropped.push_back(std::move(entry.second.tensor));
      return true;
    });
  }

  std::string description() const override {
    MutexLock lock(mutex_);
    return str_cat(kept_.size(), " tensors that sessions keep");
  }

 private:
  struct Kept {
    Tensor tensor;
    const Kernel* owner;
  };
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, Kept> kept_ MR_GUARDED_BY(mutex_);
};

Result<std::shared_ptr<SessionTensors>> session_tensors(KernelContext& context) {
  return context.step().device->resources->find_or_create<SessionTensors>(
      "", "_session_tensors", []() -> Result<std::shared_ptr<SessionTensors>> {
        return std::make_shared<SessionTensors>();
      });
}

class SessionHandleKernel final : public Kernel {
 public:
  explicit SessionHandleKernel(const KernelSpec&) {}
  ~SessionHandleKernel() override {
    if (store_ != nullptr) store_->drop_all_of(this);
  }

  Status run(KernelContext& context) override {
    MR_ASSIGN(const std::shared_ptr<SessionTensors> store, session_tensors(context));
    MR_ASSIGN(Tensor kept, context.take_input(0).kept());
    // Clients read the node's name and the device out of it: what is first, and what is last.
    const std::string number = context.step().device->resources->private_name("tensor");
    std::string handle =
        str_cat(context.node_name(), ";", number, ";", context.step().device->name);
    store->keep(handle, std::move(kept), this);
    {
      MutexLock lock(mutex_);
      // After a reset there is a new store, and what the old one held is gone.
      store_ = store;
    }
    context.set_output(0, context.output_dtype(0) == DType::string
                              ? Tensor::scalar(std::move(handle))
                              : Tensor::scalar(make_handle(
                                    context, {std::string(kContainer), handle}, kContainer)));
    return {};
  }

 private:
  static constexpr std::string_view kContainer = "TensorHandle";

  Mutex mutex_;
  std::shared_ptr<SessionTensors> store_ MR_GUARDED_BY(mutex_);
};

Result<std::string> asked_handle(KernelContext& context) {
  const Tensor& handle = context.input(0);
  if (handle.num_elements() != 1) {
    return invalid("'", context.node_name(), "' takes one handle of a session's tensor, not ",
                   handle.shape().to_string());
  }
  return handle.item<std::string>();
}

Result<Tensor> get_tensor(KernelContext& context) {
  MR_ASSIGN(const std::string handle, asked_handle(context));
  MR_ASSIGN(const std::shared_ptr<SessionTensors> store, session_tensors(context));
  MR_ASSIGN(Tensor tensor, store->get(handle));
  if (tensor.dtype() == context.output_dtype(0)) return tensor;
  return internal("'", context.node_name(), "' gets ", dtype_name(context.output_dtype(0)),
                  ", but the tensor with handle '", handle, "' is ", dtype_name(tensor.dtype()));
}

Status delete_tensor(KernelContext& context) {
  MR_ASSIGN(const std::string handle, asked_handle(context));
  MR_ASSIGN(const std::shared_ptr<SessionTensors> store, session_tensors(context));
  return store->drop(handle);
}

Status add_session_op(OpRegistry& ops, OpDef op) {
  op.not_differentiable = "a tensor comes back from a session by another way than edges";
  return ops.add(std::move(op));
}

}  // namespace

Status register_session_tensors(OpRegistry& ops) {
  const std::string doc = "Keeps a tensor on its device for later steps of the session.";
  MR_TRY(add_session_op(
      ops, stateful_op("GetSessionHandle", doc, "value: T -> handle: string | T: type",
                       infer::scalar, kernel_class<SessionHandleKernel>(), Cost::cheap)));
  MR_TRY(add_session_op(
      ops, stateful_op("GetSessionHandleV2", doc, "value: T -> handle: resource | T: type",
                       infer::scalar, kernel_class<SessionHandleKernel>(), Cost::cheap)));
  MR_TRY(add_session_op(ops, stateful_op("GetSessionTensor", "A tensor that the session keeps.",
                                         "handle: string -> value: dtype | dtype: type",
                                         infer::unknown, kernel(get_tensor), Cost::cheap)));
  return add_session_op(
      ops, stateful_op("DeleteSessionTensor",
                       "Forgets a tensor that the session "
                       "keeps.",
                       "handle: string ->", infer::no_outputs, kernel(delete_tensor), Cost::cheap));
}

}  // namespace millrace

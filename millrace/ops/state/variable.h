// Variable: a tensor that outlives a step. One class for both of TensorFlow's kinds: reference
// variables, whose tensor flows along reference edges, and resource variables, which are found
// through a handle.
//
// Held by the device's ResourceStore and by whoever uses it at the moment. Any thread; the tensor
// is touched with the mutex held. A reader takes a copy of the Tensor handle, which shares the
// buffer, and lets go of the lock; a writer therefore changes a buffer in place only if it is
// nobody else's, and otherwise puts a new tensor in its place. What was read never changes
// afterwards.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "millrace/op/kernel.h"
#include "millrace/op/resource.h"
#include "millrace/ops/loops/elementwise.h"

namespace millrace {

class StoredVariable final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "Variable";

  // Uninitialised. `shape` is what the graph declares; it may be unknown.
  StoredVariable(std::string name, DType dtype, PartialShape shape)
      : name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)) {}

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const PartialShape& declared_shape() const { return shape_; }

  Mutex& mutex() const { return mutex_; }
  // To be used only with mutex() held. Has no value before the first assignment.
  Tensor* tensor() { return &tensor_; }

  // The value as it is now; has no value before the first assignment.
  Tensor read() const;
  // Whether it is kept on the disk (kept_names.h says which are).
  bool is_kept() const { return is_kept_.load(std::memory_order_acquire); }
  void keep() { is_kept_.store(true, std::memory_order_release); }
  std::string description() const override;

 private:
  const std::string name_;
  const DType dtype_;
  const PartialShape shape_;
  std::atomic<bool> is_kept_{false};
  mutable Mutex mutex_;
  Tensor tensor_ MR_GUARDED_BY(mutex_);
};

// What flows along a reference edge.
TensorRef reference_to(const std::shared_ptr<StoredVariable>& variable);

// FAILED_PRECONDITION "Attempting to use uninitialized value <name>".
Status uninitialized(std::string_view name);

// The functions below need the lock that guards `held`.

// Puts `value` into `held`: the very buffer if it is nobody else's, a copy otherwise (what shares
// it may be a slice of something large, or memory of the client's).
Status store(Tensor& held, Tensor value);
// held = loop(held, operand), in place if `held` shares its buffer with nobody.
// Errors: INVALID_ARGUMENT if the shapes differ.
Status update(Tensor& held, const Tensor& operand, cpu::BinaryLoop loop);
// Makes sure that writing to `held` changes nothing that somebody has read.
Status unshare(Tensor& held);

}  // namespace millrace

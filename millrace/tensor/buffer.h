// Memory that tensors share.
//
// A Buffer is owned by shared_ptr and freed with the last tensor on it. Its bytes are aligned to
// kBufferAlignment when Millrace allocated them; borrowed memory (a NumPy array, a gRPC slice)
// keeps its own alignment. Large blocks come from a process-wide cache of mappings that are already
// touched, because a page fault per 4 KiB costs more than the copy that follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"

#include "millrace/base/result.h"

namespace millrace {

inline constexpr size_t kBufferAlignment = 64;

class Buffer {
 public:
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  size_t size() const { return size_; }

  // `size` bytes, uninitialised. Errors: RESOURCE_EXHAUSTED if there is no memory.
  static Result<std::shared_ptr<Buffer>> allocate(size_t size);
  // The same, all zero: for a large block that is fresh from the system nothing is written.
  static Result<std::shared_ptr<Buffer>> allocate_zeroed(size_t size);
  // Memory of somebody else, kept alive by `release`, which runs on whichever thread drops the
  // last reference. `data` stays unchanged as long as the buffer is shared read-only.
  static std::shared_ptr<Buffer> borrow(void* data, size_t size,
                                        absl::AnyInvocable<void()> release);
  // As borrow, but the memory is only lent for one step: its owner may change it afterwards. It is
  // never written to, and whoever keeps a tensor beyond the step keeps Tensor::kept() instead.
  static std::shared_ptr<Buffer> borrow_for_step(void* data, size_t size,
                                                 absl::AnyInvocable<void()> release);
  bool is_lent_for_step() const { return is_lent_for_step_; }

 protected:
  enum class Lent : uint8_t { no, for_step };
  Buffer(void* data, size_t size, Lent lent = Lent::no)
      : data_(data), size_(size), is_lent_for_step_(lent == Lent::for_step) {}

 private:
  void* const data_;
  const size_t size_;
  const bool is_lent_for_step_;
};

// Bytes of large blocks that are free but kept mapped for reuse. For tests and reports.
size_t cached_block_bytes();
// Gives them back to the system.
void release_cached_blocks();

}  // namespace millrace

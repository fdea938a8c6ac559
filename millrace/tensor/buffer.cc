#include "millrace/tensor/buffer.h"

#include <cstring>
#include <new>
#include <utility>

#include "millrace/tensor/block_cache.h"
#include "millrace/tensor/trailing_allocator.h"

namespace millrace {
namespace {

class SmallBuffer final : public Buffer {
 public:
  SmallBuffer(void* const& bytes, size_t size) : Buffer(bytes, size) {}
};

class BlockBuffer final : public Buffer {
 public:
  BlockBuffer(BlockCache::Block block, size_t size) : Buffer(block.data, size), block_(block) {}
  ~BlockBuffer() override { BlockCache::instance().give_back(block_); }

 private:
  const BlockCache::Block block_;
};

class BorrowedBuffer final : public Buffer {
 public:
  BorrowedBuffer(void* data, size_t size, Lent lent, absl::AnyInvocable<void()> release)
      : Buffer(data, size, lent), release_(std::move(release)) {}
  ~BorrowedBuffer() override {
    if (release_) release_();
  }

 private:
  absl::AnyInvocable<void()> release_;
};

enum class Content { uninitialised, zero };

Result<std::shared_ptr<Buffer>> make_bytes(size_t size, Content content) {
  try {
    if (size >= BlockCache::kMinBlock) {
      MR_ASSIGN(const BlockCache::Block block, BlockCache::instance().take(size));
      if (content == Content::zero && !block.is_zeroed) std::memset(block.data, 0, size);
      return std::shared_ptr<Buffer>(std::make_shared<BlockBuffer>(block, size));
    }
    void* bytes = nullptr;
    std::shared_ptr<Buffer> made = std::allocate_shared<SmallBuffer>(
        TrailingAllocator<SmallBuffer>(size, &bytes), bytes, size);
    if (content == Content::zero) std::memset(made->data(), 0, size);
    return made;
  } catch (const std::bad_alloc&) {
    return error(Code::resource_exhausted, "no memory for a buffer of ", size,
                 " bytes; use smaller tensors, or give the process more memory");
  }
}

}  // namespace

Result<std::shared_ptr<Buffer>> Buffer::allocate(size_t size) {
  return make_bytes(size, Content::uninitialised);
}

Result<std::shared_ptr<Buffer>> Buffer::allocate_zeroed(size_t size) {
  return make_bytes(size, Content::zero);
}

std::shared_ptr<Buffer> Buffer::borrow(void* data, size_t size,
                                       absl::AnyInvocable<void()> release) {
  return std::make_shared<BorrowedBuffer>(data, size, Lent::no, std::move(release));
}

std::shared_ptr<Buffer> Buffer::borrow_for_step(void* data, size_t size,
                                                absl::AnyInvocable<void()> release) {
  return std::make_shared<BorrowedBuffer>(data, size, Lent::for_step, std::move(release));
}

size_t cached_block_bytes() { return BlockCache::instance().cached_bytes(); }

void release_cached_blocks() { BlockCache::instance().release_all(); }

}  // namespace millrace

// BlockCache: large blocks of memory that stay mapped between uses. Private to this room.
//
// A fresh mapping costs a page fault per page, which is several times what copying into it costs;
// a program that trains frees and needs blocks of the same sizes each step. Freed blocks are
// therefore kept by size class, the most recently used on top, and go back to the system oldest
// first when the cache would hold more than its bound: the smaller of kMaxCached (or a sixteenth of
// the machine's memory, if that is more) and the largest number of bytes that were ever in use.
//
// It also knows how much all large blocks take together, and grants no more than this process can
// have (memory_bound.h), less kSpare or an eighth for all else. A system that grants more than
// there is ends the process when it is used, and a message of a few bytes can declare a tensor of
// any size. What tensors take below kMinBlock is not counted.
//
// One per process, one of the two mutable globals in the house (ARCHITECTURE.md): memory is the
// process's, whoever asks for it. All members may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/base/result.h"
#include "millrace/tensor/memory_bound.h"

namespace millrace {

class BlockCache {
 public:
  static constexpr size_t kMinBlock = size_t{256} << 10;
  static constexpr size_t kMaxCached = size_t{512} << 20;
  static constexpr size_t kSpare = size_t{4} << 30;

  struct Block {
    void* data = nullptr;
    size_t size = 0;         // of the size class: at least what was asked for
    bool is_zeroed = false;  // fresh from the system
  };

  // Never destroyed: tensors in static storage may be freed after it would be.
  static BlockCache& instance();

  explicit BlockCache(size_t max_cached, MemoryBound bound = {});
  // A block of at least `size` >= kMinBlock bytes. Errors: RESOURCE_EXHAUSTED if the system has no
  // such block, or if all blocks that are in use would then be more than this process can have.
  Result<Block> take(size_t size);
  void give_back(Block block);

  size_t cached_bytes() const;
  void release_all();

  // What take(size) rounds up to: eight classes per power of two.
  static size_t class_size(size_t size);

 private:
  struct Free {
    void* data;
    uint64_t age;
  };
  using Blocks = std::vector<Block>;

  Blocks evict(size_t bound) MR_REQUIRES(mutex_);
  Status reserve(size_t size) MR_REQUIRES(mutex_);
  static Result<Block> map(size_t size);
  static void unmap(const Blocks& blocks);

  const size_t max_cached_;
  const MemoryBound bound_;
  const size_t max_in_use_;
  mutable Mutex mutex_;
  std::map<size_t, std::deque<Free>> free_ MR_GUARDED_BY(mutex_);  // by class, oldest in front
  size_t cached_ MR_GUARDED_BY(mutex_) = 0;
  size_t in_use_ MR_GUARDED_BY(mutex_) = 0;
  size_t peak_in_use_ MR_GUARDED_BY(mutex_) = 0;
  uint64_t next_age_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace

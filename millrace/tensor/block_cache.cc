#include "millrace/tensor/block_cache.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace millrace {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// Beyond any address space, and far enough from 2^64 that rounding up can't overflow.
constexpr size_t kMaxBlock = size_t{1} << 56;

size_t machine_bound() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return BlockCache::kMaxCached;
  const size_t memory = static_cast<size_t>(pages) * static_cast<size_t>(page);
  return std::max(BlockCache::kMaxCached, memory / 16);
}

}  // namespace

BlockCache& BlockCache::instance() {
  static BlockCache& cache = *new BlockCache(machine_bound(), MemoryBound::of_process());
  return cache;
}

BlockCache::BlockCache(size_t max_cached, MemoryBound bound)
    : max_cached_(max_cached),
      bound_(std::move(bound)),
      max_in_use_(bound_.bytes - std::min(bound_.bytes / 8, kSpare)) {}

size_t BlockCache::class_size(size_t size) {
  const size_t step = std::bit_floor(std::max(size, kMinBlock)) / 8;
  return (std::max(size, kMinBlock) + step - 1) / step * step;
}

Result<BlockCache::Block> BlockCache::take(size_t size) {
  if (size > kMaxBlock)
    return error(Code::resource_exhausted, "a block of ", size,
                 " bytes is more than any machine has");
  const size_t rounded = class_size(size);
  Blocks evicted;
  {
    MutexLock lock(mutex_);
    MR_TRY(reserve(rounded));
    const auto found = free_.find(rounded);
    if (found != free_.end()) {
      void* const data = found->second.back().data;
      found->second.pop_back();
      if (found->second.empty()) free_.erase(found);
      cached_ -= rounded;
      peak_in_use_ = std::max(peak_in_use_, in_use_);
      ASAN_UNPOISON_MEMORY_REGION(data, rounded);
      return Block{data, rounded, false};
    }
    evicted = evict(max_in_use_ - in_use_);
  }
  unmap(evicted);
  Result<Block> made = map(rounded);
  if (!made.ok()) {
    release_all();
    made = map(rounded);
  }
  MutexLock lock(mutex_);
  if (made.ok()) {
    peak_in_use_ = std::max(peak_in_use_, in_use_);
  } else {
    in_use_ -= rounded;
  }
  return made;
}

void BlockCache::give_back(Block block) {
  Blocks evicted;
  {
    MutexLock lock(mutex_);
    in_use_ -= block.size;
    const size_t bound = std::min(max_cached_, peak_in_use_);
    if (block.size > bound) {
      evicted.push_back(block);
    } else {
      evicted = evict(bound - block.size);
      ASAN_POISON_MEMORY_REGION(block.data, block.size);
      free_[block.size].push_back({block.data, next_age_++});
      cached_ += block.size;
    }
  }
  unmap(evicted);
}

size_t BlockCache::cached_bytes() const {
  MutexLock lock(mutex_);
  return cached_;
}

void BlockCache::release_all() {
  Blocks evicted;
  {
    MutexLock lock(mutex_);
    evicted = evict(0);
  }
  unmap(evicted);
}

BlockCache::Blocks BlockCache::evict(size_t bound) {
  Blocks evicted;
  while (cached_ > bound) {
    const auto oldest = std::min_element(
        free_.begin(), free_.end(),
        [](const auto& a, const auto& b) { return a.second.front().age < b.second.front().age; });
    evicted.push_back({oldest->second.front().data, oldest->first});
    cached_ -= oldest->first;
    oldest->second.pop_front();
    if (oldest->second.empty()) free_.erase(oldest);
  }
  return evicted;
}

// Counts the block before it is there, so that two at once can't both be the last that fits.
Status BlockCache::reserve(size_t size) {
  if (size <= max_in_use_ - std::min(max_in_use_, in_use_)) {
    in_use_ += size;
    return {};
  }
  return error(Code::resource_exhausted, "no memory for a block of ", size,
               " bytes: large tensors of this process may take ", max_in_use_,
               " bytes together and take ", in_use_, " now; the limit comes from ", bound_.source,
               ", ", bound_.bytes, " bytes. Use smaller tensors, or fewer at a time");
}

Result<BlockCache::Block> BlockCache::map(size_t size) {
  const bool is_huge = size >= kHugePage;
  // A huge page needs its alignment: map more, then give back both ends.
  const size_t slack = is_huge ? kHugePage : 0;
  void* const mapped =
      mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return error(Code::resource_exhausted, "no memory for a block of ", size,
                 " bytes: ", std::strerror(errno),
                 "; use smaller tensors, or give the process more memory");
  }
  if (!is_huge) return Block{mapped, size, true};

  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = (begin + kHugePage - 1) & ~(kHugePage - 1);
  const size_t front = aligned - begin;
  if (front > 0) munmap(mapped, front);
  if (slack > front) munmap(reinterpret_cast<void*>(aligned + size), slack - front);
  void* const data = reinterpret_cast<void*>(aligned);
  madvise(data, size, MADV_HUGEPAGE);  // advice: without huge pages it is merely slower
  return Block{data, size, true};
}

void BlockCache::unmap(const Blocks& blocks) {
  for (const Block& block : blocks) {
    ASAN_UNPOISON_MEMORY_REGION(block.data, block.size);
    munmap(block.data, block.size);
  }
}

}  // namespace millrace

#include "millrace/tensor/buffer.h"

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/tensor/block_cache.h"

namespace millrace {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

std::shared_ptr<Buffer> buffer_of(size_t size) { return Buffer::allocate(size).value(); }

TEST_CASE("buffers of any size are aligned and writable") {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4}, size_t{63}, size_t{4096},
                            size_t{256} * 1024 - 1, size_t{256} * 1024, 2 * kMiB, 3 * kMiB + 1}) {
    CAPTURE(size);
    const auto buffer = buffer_of(size);
    CHECK(buffer->size() == size);
    CHECK(reinterpret_cast<uintptr_t>(buffer->data()) % kBufferAlignment == 0);
    std::memset(buffer->data(), 0xab, size);
  }
}

TEST_CASE("a zeroed buffer is zero even on a block that was used before") {
  for (const size_t size : {size_t{100}, 4 * kMiB}) {
    std::memset(buffer_of(size)->data(), 0xab, size);
    const auto buffer = Buffer::allocate_zeroed(size).value();
    const std::vector<char> zeros(size);
    CHECK(std::memcmp(buffer->data(), zeros.data(), size) == 0);
  }
}

TEST_CASE("more memory than there is gives an error") {
  CHECK(Buffer::allocate(size_t{1} << 50).status().code() == Code::resource_exhausted);
  CHECK(Buffer::allocate(~size_t{0}).status().code() == Code::resource_exhausted);
}

TEST_CASE("borrowed memory is released with the last reference") {
  int released = 0;
  char bytes[8];
  auto buffer = Buffer::borrow(bytes, sizeof(bytes), [&] { ++released; });
  auto other = buffer;
  CHECK(buffer->data() == bytes);
  buffer.reset();
  CHECK(released == 0);
  other.reset();
  CHECK(released == 1);
}

TEST_CASE("a freed large block is used again by the next buffer of its size class") {
  release_cached_blocks();
  void* const first = buffer_of(5 * kMiB)->data();
  CHECK(cached_block_bytes() >= 5 * kMiB);
  CHECK(buffer_of(5 * kMiB - 100)->data() == first);
  const auto held = buffer_of(5 * kMiB);
  CHECK(held->data() == first);
  CHECK(cached_block_bytes() == 0);
}

TEST_CASE("small buffers leave nothing in the cache") {
  release_cached_blocks();
  buffer_of(256 * 1024 - 1);
  CHECK(cached_block_bytes() == 0);
}

TEST_CASE("released blocks are mapped no longer") {
  buffer_of(5 * kMiB);
  release_cached_blocks();
  CHECK(cached_block_bytes() == 0);
}

TEST_CASE("size classes waste an eighth at most") {
  for (size_t size = BlockCache::kMinBlock; size < (size_t{1} << 32); size += size / 7 + 1) {
    const size_t rounded = BlockCache::class_size(size);
    CAPTURE(size);
    CHECK(rounded >= size);
    CHECK(rounded - size <= size / 8);
    CHECK(rounded % 4096 == 0);
    CHECK(BlockCache::class_size(rounded) == rounded);
  }
}

TEST_CASE("the cache holds no more than was in use at peak") {
  BlockCache cache(64 * kMiB);
  // One block in use at a time, of two classes: only the last one may stay.
  cache.give_back(cache.take(kMiB).value());
  cache.give_back(cache.take(2 * kMiB).value());
  CHECK(cache.cached_bytes() == 2 * kMiB);
  cache.give_back(cache.take(kMiB).value());
  CHECK(cache.cached_bytes() == kMiB);
  cache.release_all();
}

TEST_CASE("the cache holds no more than its bound, and drops the oldest blocks first") {
  BlockCache cache(4 * kMiB);
  std::vector<BlockCache::Block> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(cache.take(kMiB).value());
  const BlockCache::Block large = cache.take(8 * kMiB).value();
  for (const auto& block : blocks) cache.give_back(block);
  CHECK(cache.cached_bytes() == 4 * kMiB);
  cache.give_back(large);
  CHECK(cache.cached_bytes() == 4 * kMiB);
  CHECK(cache.take(kMiB).value().data == blocks.back().data);
  cache.give_back(blocks.back());
  cache.release_all();
  CHECK(cache.cached_bytes() == 0);
}

TEST_CASE("a block that is larger than what the process can have is refused, with the sizes") {
  BlockCache cache(0, {.bytes = 80 * kMiB, .source = "a group"});
  const Status status = cache.take(100 * kMiB).status();
  CHECK(
      status.to_string() ==
      "RESOURCE_EXHAUSTED: no memory for a block of 109051904 bytes: large tensors of this process "
      "may take 73400320 bytes together and take 0 now; the limit comes from a group, 83886080 "
      "bytes. Use smaller tensors, or fewer at a time");
  cache.give_back(cache.take(64 * kMiB).value());
}

TEST_CASE("blocks that are larger together than what the process can have are refused") {
  BlockCache cache(64 * kMiB, {.bytes = 80 * kMiB, .source = "a group"});
  const BlockCache::Block a = cache.take(32 * kMiB).value(), b = cache.take(32 * kMiB).value();
  CHECK(cache.take(8 * kMiB).status().code() == Code::resource_exhausted);
  cache.give_back(a);
  CHECK(cache.cached_bytes() == 32 * kMiB);
  // What is only kept for later gives way.
  const BlockCache::Block c = cache.take(36 * kMiB).value();
  CHECK(cache.cached_bytes() == 0);
  cache.give_back(b);
  cache.give_back(c);
  CHECK(cache.cached_bytes() <= 64 * kMiB);
  cache.release_all();
}

TEST_CASE("a block that the system does not grant leaves nothing counted") {
  BlockCache cache(0, {.bytes = size_t{1} << 58, .source = "somebody"});
  CHECK(cache.take(size_t{1} << 50).status().code() == Code::resource_exhausted);
  CHECK(cache.take(size_t{1} << 50)
            .status()
            .message()
            .find("no memory for a block of 1125899906842624 "
                  "bytes: ") != std::string_view::npos);
  BlockCache small(0, {.bytes = 16 * kMiB, .source = "a group"});
  for (int i = 0; i < 3; ++i) {
    const auto block = small.take(14 * kMiB);
    REQUIRE(block.ok());
    small.give_back(*block);
  }
}

TEST_CASE("large tensors of this process are bounded by what it can have") {
  const MemoryBound bound = MemoryBound::of_process();
  const Status status = Buffer::allocate(bound.bytes).status();
  CHECK(status.code() == Code::resource_exhausted);
  CHECK_MESSAGE(status.message().find(bound.source) != std::string_view::npos, status.to_string());
}

TEST_CASE("threads share the cache") {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 50; ++i) {
        const auto buffer = buffer_of(size_t{256 + 64 * static_cast<size_t>(i % 5)} << 10);
        std::memset(buffer->data(), t, 4096);
        CHECK(static_cast<char*>(buffer->data())[4095] == t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace millrace

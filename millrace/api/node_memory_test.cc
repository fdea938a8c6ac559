// What a node costs a program in memory, as bytes that it takes and doesn't give back. No machine
// has a say in it.
#include <malloc.h>

#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/api/input.h"
#include "millrace/api/scope.h"
#include "millrace/ops/all.h"

namespace {
// Per thread, so that other threads of the test program don't count.
thread_local size_t bytes_in_use = 0;
// What the C library keeps before each block.
constexpr size_t kBeforeBlock = 8;

void free_counted(void* block) {
  if (block != nullptr) bytes_in_use -= malloc_usable_size(block) + kBeforeBlock;
  std::free(block);
}
}  // namespace

void* operator new(size_t size) {
  void* block = std::malloc(size ? size : 1);
  if (block == nullptr) throw std::bad_alloc();
  bytes_in_use += malloc_usable_size(block) + kBeforeBlock;
  return block;
}
void operator delete(void* block) noexcept { free_counted(block); }
void operator delete(void* block, size_t) noexcept { free_counted(block); }

namespace millrace {
namespace {

constexpr size_t kCount = 200'000;
// Half of what an addition once cost (docs/performance.md).
constexpr size_t kMostPerNode = 201;
static_assert(sizeof(Output) == 24);

struct CountedProgram {
  OpRegistry ops;
  std::optional<GraphBuilder> builder;
  std::vector<Output> held;

  CountedProgram() {
    REQUIRE(register_all_ops(ops).ok());
    builder.emplace(ops);
    held.reserve(kCount);
  }
  template <class Make>
  size_t bytes_per_node(Make make) {
    const size_t before = bytes_in_use;
    for (size_t i = 0; i < kCount; ++i) held.push_back(make(builder->root(), held));
    REQUIRE(builder->status().ok());
    return (bytes_in_use - before) / kCount + sizeof(Output);
  }
};

TEST_CASE("an addition with a handle on it costs 201 bytes at most") {
  CHECK(CountedProgram().bytes_per_node([](const Scope& scope, const std::vector<Output>& held) {
    if (held.size() < 2) return constant(scope, 1.0f);
    return Output(scope.add("AddV2", {held.back(), held[held.size() - 2]}, {}), 0);
  }) <= kMostPerNode);
}

TEST_CASE("a constant like others with a handle on it costs no more") {
  CHECK(CountedProgram().bytes_per_node([](const Scope& scope, const std::vector<Output>&) {
    return constant(scope, 1.0f);
  }) <= kMostPerNode);
}

TEST_CASE("a node with a long name of its own costs that name and a few bytes more") {
  constexpr size_t kName = 60;
  size_t number = 0;
  const auto make = [&](const Scope& scope, const std::vector<Output>&) {
    std::string name = std::to_string(number++);
    name.insert(0, kName - name.size(), 'n');
    return constant(scope.with_name(name), 1.0f);
  };
  CHECK(CountedProgram().bytes_per_node(make) <= kMostPerNode + kName);
}

}  // namespace
}  // namespace millrace

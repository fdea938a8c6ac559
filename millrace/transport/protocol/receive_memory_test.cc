#include "millrace/transport/protocol/receive_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace millrace::transport {
namespace {

constexpr size_t kPiece = 32 << 10;
constexpr size_t kPieces = 1000;

long page_faults_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

// As gRPC does for large messages: many pieces, filled, used, freed together.
void receive() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<std::unique_ptr<char[]>> pieces;
  for (size_t i = 0; i < kPieces; ++i) {
    pieces.emplace_back(new char[kPiece]);
    for (size_t at = 0; at < kPiece; at += page)
      *static_cast<volatile char*>(pieces.back().get() + at) = 1;
  }
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kOwnMalloc = false;  // a sanitizer's
#else
constexpr bool kOwnMalloc = true;
#endif

TEST_CASE("what a large message was received into is not faulted in again for the next one") {
  if (!kOwnMalloc) {
    std::puts("SKIPPED: a sanitizer's malloc ignores mallopt; build without one");
    return;
  }
  keep_receive_memory();
  long first = 0, second = 0;
  std::thread([&] {  // on an arena of its own, like gRPC's threads
    const long before = page_faults_of_this_thread();
    receive();
    first = page_faults_of_this_thread() - before;
    receive();
    second = page_faults_of_this_thread() - before - first;
  })
      .join();
  CHECK(first > 0);
  CHECK(second < first / 10);
}

}  // namespace
}  // namespace millrace::transport

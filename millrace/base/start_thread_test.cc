#include "millrace/base/start_thread.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <latch>
#include <vector>

#include <doctest/doctest.h>

namespace millrace {
namespace {

size_t addresses_in_use() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_CASE("a thread runs its body under its name") {
  std::string name(16, '\0');
  auto thread = start_thread("a name that is far too long",
                             [&] { pthread_getname_np(pthread_self(), name.data(), name.size()); });
  REQUIRE(thread.ok());
  thread->join();
  CHECK(name.c_str() == std::string("a name that is "));
}

TEST_CASE("a thread that the system refuses is an error that says where to look") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  MESSAGE("left out: a sanitizer ends the process that has no address space; build without one");
  return;
#endif
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 1 << 20;  // less than is in use already
  // Some may get the stacks of threads that are gone.
  std::latch leave(1);
  std::vector<std::thread> threads;
  Status status;
  setrlimit(RLIMIT_AS, &none);
  while (status.ok()) {
    auto started = start_thread("one too many", [&] { leave.wait(); });
    status = started.status();
    if (status.ok()) threads.push_back(std::move(started).value());
  }
  setrlimit(RLIMIT_AS, &before);
  leave.count_down();
  for (std::thread& thread : threads) thread.join();
  CHECK(status.code() == Code::resource_exhausted);
  CHECK(status.message().find("can't start the thread 'one too many': ") == 0);
  CHECK(status.message().find("ulimit -u") != std::string::npos);
}

TEST_CASE("a thread that has only its stack is refused, and one that has more may allocate") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  MESSAGE("left out: a sanitizer ends the process that has no address space; build without one");
  return;
#endif
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  int refused = 0;
  int could_allocate = 0;
  int could_not = 0;
  // Each round leaves 256 kB more than the one before, up to two stacks.
  for (size_t spare = 0; spare < size_t{16} << 20; spare += size_t{256} << 10) {
    rlimit few = before;
    few.rlim_cur = addresses_in_use() + spare;
    setrlimit(RLIMIT_AS, &few);
    auto started = start_thread("first steps", [&] {
      constexpr size_t kFirst = 512 << 10;
      void* pages = ::mmap(nullptr, kFirst, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ++(pages == MAP_FAILED ? could_not : could_allocate);
      if (pages != MAP_FAILED) ::munmap(pages, kFirst);
    });
    if (started.ok()) started->join();
    if (!started.ok()) ++refused;
    setrlimit(RLIMIT_AS, &before);
  }
  CHECK(refused > 0);
  CHECK(could_allocate > 0);
  CHECK(could_not == 0);
}

}  // namespace
}  // namespace millrace

#include "millrace/base/shared_memory.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr size_t kSize = 1 << 20;

// What a child process says of it, as its exit code.
template <class Look>
int in_another_process(Look look) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(look());
  int how = 0;
  REQUIRE(::waitpid(child, &how, 0) == child);
  REQUIRE(WIFEXITED(how));
  return WEXITSTATUS(how);
}

TEST_CASE("what one process writes the other one reads, in both directions") {
  const auto memory = SharedMemory::create(kSize, 7).value();
  CHECK(memory->data()[kSize - 1] == 0);
  std::strcpy(memory->data(), "to you");
  const std::string address = memory->address();
  CHECK(address.find('/') == std::string::npos);
  CHECK(in_another_process([&] {
          const auto opened = SharedMemory::open(address, kSize);
          if (!opened.ok()) return 1;
          if (std::strcmp((*opened)->data(), "to you") != 0) return 2;
          std::strcpy((*opened)->data() + kSize - 10, "to me");
          return 0;
        }) == 0);
  CHECK(std::strcmp(memory->data() + kSize - 10, "to me") == 0);
}

TEST_CASE("memory lives as long as somebody has it, and no longer") {
  auto memory = SharedMemory::create(kSize, 7).value();
  const std::string address = memory->address();
  const auto opened = SharedMemory::open(address, kSize).value();
  std::strcpy(memory->data(), "still here");
  memory.reset();
  CHECK(std::strcmp(opened->data(), "still here") == 0);
  CHECK_FALSE(SharedMemory::open(address, kSize).ok());
}

TEST_CASE("an address that is none of ours opens nothing") {
  const auto memory = SharedMemory::create(kSize, 0xabc).value();
  const std::string mine = memory->address();
  CHECK(SharedMemory::open(mine, kSize).ok());
  CHECK(SharedMemory::open(mine, kSize - 1).status().code() == Code::invalid_argument);
  const std::string other_token = mine.substr(0, mine.rfind('.')) + ".abd";
  CHECK(SharedMemory::open(other_token, kSize).status().code() == Code::invalid_argument);
  CHECK(SharedMemory::open("x" + mine, kSize).status().code() == Code::unavailable);
  CHECK(SharedMemory::open(str_cat(this_machine(), ".999999999.1.2"), kSize).status().code() ==
        Code::unavailable);
  // Its standard input.
  CHECK_FALSE(SharedMemory::open(str_cat(this_machine(), ".", ::getpid(), ".0.2"), kSize).ok());
  for (const char* bad : {"", "....", "a.b.c.d", "a.1.2", "a.1.2.3.4", "/etc/passwd"})
    CHECK_FALSE(SharedMemory::open(bad, kSize).ok());
}

}  // namespace
}  // namespace millrace

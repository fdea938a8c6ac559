#include "millrace/io/remote/remote_file.h"

#include <cstring>
#include <numeric>

#include <doctest/doctest.h>

namespace millrace::remote {
namespace {

// A file of a store that counts what is asked of it.
struct Counted {
  std::string bytes;
  int requests = 0;
  size_t largest = 0;
  Status problem;

  explicit Counted(size_t size) : bytes(size, '\0') {
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
  }
  RemoteFile file() {
    return RemoteFile(bytes.size(), [this](uint64_t offset, std::span<char> into) -> Status {
      ++requests;
      largest = std::max(largest, into.size());
      REQUIRE(offset + into.size() <= bytes.size());
      if (!problem.ok()) return problem;
      std::memcpy(into.data(), bytes.data() + offset, into.size());
      return {};
    });
  }
};

TEST_CASE("small reads one after another take few requests, and each byte is right") {
  Counted store(20 << 20);
  const RemoteFile file = store.file();
  std::string all, piece(100'000, '\0');
  for (size_t some = 1; some > 0;) {
    some = file.read(all.size(), piece).value();
    all.append(piece, 0, some);
  }
  CHECK(all == store.bytes);
  CHECK(store.requests < 10);
  CHECK(store.largest <= 8 << 20);
}

TEST_CASE("reads here and there take no more than they need") {
  Counted store(100 << 20);
  const RemoteFile file = store.file();
  char byte = 0;
  for (const size_t at : {0u, 90u << 20, 10u << 20, 50u << 20}) {
    CHECK(file.read(at, {&byte, 1}).value() == 1);
    CHECK(byte == store.bytes[at]);
  }
  CHECK(store.requests == 4);
  CHECK(store.largest == 256 << 10);
}

TEST_CASE("a large read goes straight to its place, and ends where the file does") {
  Counted store(70 << 20);
  const RemoteFile file = store.file();
  std::string into(100 << 20, '\0');
  CHECK(file.read(1, into).value() == store.bytes.size() - 1);
  into.resize(store.bytes.size() - 1);
  CHECK(into == store.bytes.substr(1));
  CHECK(store.largest <= 64 << 20);
  CHECK(file.read(store.bytes.size(), into).value() == 0);
}

TEST_CASE("after an error the file can be read on") {
  Counted store(1000);
  const RemoteFile file = store.file();
  store.problem = unavailable("away");
  std::string into(1000, '\0');
  CHECK(file.read(0, into).status().code() == Code::unavailable);
  store.problem = {};
  CHECK(file.read(0, into).value() == 1000);
  CHECK(into == store.bytes);
}

}  // namespace
}  // namespace millrace::remote

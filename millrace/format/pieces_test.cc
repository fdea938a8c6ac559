#include "millrace/format/pieces.h"

#include <algorithm>
#include <memory>
#include <string>

#include <doctest/doctest.h>

namespace millrace::wire {
namespace {

std::shared_ptr<Buffer> buffer_of(size_t size, char filling) {
  auto buffer = Buffer::allocate(size).value();
  std::fill_n(static_cast<char*>(buffer->data()), size, filling);
  return buffer;
}

std::string_view bytes_of(const Buffer& buffer) {
  return {static_cast<const char*>(buffer.data()), buffer.size()};
}

TEST_CASE("bytes that come one after the other are one piece") {
  Pieces message;
  message.append("ab");
  message.append("");
  message.append(std::string("cd"));
  REQUIRE(message.pieces().size() == 1);
  CHECK(message.pieces()[0].view() == "abcd");
  CHECK(message.size() == 4);
}

TEST_CASE("nothing appended is no piece") {
  Pieces message;
  message.append("");
  CHECK(message.pieces().empty());
  CHECK(message.size() == 0);
}

TEST_CASE("a large string is taken over, and what follows stands behind it") {
  std::string large(kMinSharedBytes, 'x');
  const char* const where = large.data();
  Pieces message;
  message.append("a");
  message.append(std::move(large));
  REQUIRE(message.pieces().size() == 2);
  CHECK(message.pieces()[1].bytes.data() == where);
  message.append("b");
  CHECK(message.size() == kMinSharedBytes + 2);
  CHECK(message.join() == "a" + std::string(kMinSharedBytes, 'x') + "b");
}

TEST_CASE("a shared buffer is not copied, kept alive, and nothing is written behind its bytes") {
  Pieces message;
  std::weak_ptr<Buffer> held;
  {
    const auto buffer = buffer_of(8, 'y');
    held = buffer;
    message.append("a");
    message.append_shared(buffer, bytes_of(*buffer).substr(2, 3));
    message.append("b");
    REQUIRE(message.pieces().size() == 3);
    CHECK(message.pieces()[1].view().data() == bytes_of(*buffer).data() + 2);
  }
  CHECK_FALSE(held.expired());
  CHECK(message.size() == 5);
  CHECK(message.join() == "ayyyb");
}

TEST_CASE("a piece that has grown long is left alone, since growing it would copy it") {
  Pieces message;
  const std::string part(1000, 'z');
  for (int i = 0; i < 100; ++i) message.append(std::string_view(part));
  CHECK(message.size() == 100'000);
  CHECK(message.pieces().size() > 1);
  for (const Piece& piece : message.pieces()) CHECK(piece.view().size() < 20'000);
  CHECK(message.join() == std::string(100'000, 'z'));
}

}  // namespace
}  // namespace millrace::wire

#include <doctest/doctest.h>

#include "millrace/transport/protocol/chunks.h"
#include "millrace/transport/protocol/receive_memory.h"

namespace millrace::transport {
namespace {

constexpr size_t kMegabyte = 1 << 20;

TEST_CASE("a message may take a third of the memory that is left, all together half") {
  CHECK(receive_limits(600 * kMegabyte).one_message == static_cast<int>(200 * kMegabyte));
  CHECK(receive_limits(600 * kMegabyte).all == 300 * kMegabyte);
}

TEST_CASE("with much memory the bound of a message is that of the protocol") {
  CHECK(receive_limits(size_t{64} << 30).one_message == static_cast<int>(kMaxMessageBytes));
}

TEST_CASE("with no memory left small messages still come in") {
  CHECK(receive_limits(0).one_message == static_cast<int>(4 * kMegabyte));
  CHECK(receive_limits(0).all == 4 * kMegabyte);
}

}  // namespace
}  // namespace millrace::transport

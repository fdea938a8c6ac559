#include "millrace/ops/state/lease.h"

#include "doctest/doctest.h"

namespace millrace {
namespace {

Lease some_lease() {
  return {.queue = 0x0102030405060708,
          .number = 9,
          .attempt = 2,
          .step = 3,
          .settled = 1,
          .horizon = 12,
          .open = {5, 9}};
}

std::string in_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<uint8_t>(byte) >> 4];
    text += kDigits[static_cast<uint8_t>(byte) & 15];
  }
  return text;
}

TEST_CASE("a lease travels as these bytes") {
  CHECK(in_hex(encode_lease(some_lease())) ==
        "4d524c31"
        "02000000"
        "0807060504030201"
        "0900000000000000"
        "0300000000000000"
        "0100000000000000"
        "0c00000000000000"
        "02000000"
        "0500000000000000"
        "0900000000000000");
}

TEST_CASE("a lease comes back from its bytes, and no lease from none") {
  const auto back = decode_lease(encode_lease(some_lease()));
  REQUIRE(back.ok());
  CHECK(*back == some_lease());
  CHECK(encode_lease(Lease()).empty());
  CHECK_FALSE(decode_lease("")->has_element());
}

TEST_CASE("a lease that is written where another one was is that lease, and no lease is none") {
  std::string bytes = encode_lease(some_lease()) + "longer";
  encode_lease(some_lease(), &bytes);
  CHECK(bytes == encode_lease(some_lease()));
  CHECK(check_lease(bytes).ok());
  encode_lease(Lease(), &bytes);
  CHECK(bytes.empty());
  CHECK(check_lease(bytes).ok());
}

TEST_CASE("another step under a lease is the same lease with other numbers") {
  const auto next = lease_for_step(encode_lease(some_lease()), 7, 6);
  REQUIRE(next.ok());
  const auto lease = decode_lease(*next);
  CHECK(lease->step == 7);
  CHECK(lease->settled == 6);
  CHECK(lease->number == 9);
  CHECK(lease_for_step("", 7, 6)->empty());
}

TEST_CASE("bytes that are cut, lengthened or changed are refused, wherever that is") {
  const std::string whole = encode_lease(some_lease());
  for (size_t size = 1; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(decode_lease(whole.substr(0, size)).status().code() == Code::invalid_argument);
    CHECK(check_lease(whole.substr(0, size)).code() == Code::invalid_argument);
  }
  CHECK_FALSE(decode_lease(whole + "x").ok());
  std::string foreign = whole;
  foreign[0] = 'X';
  CHECK_FALSE(decode_lease(foreign).ok());
  std::string huge = whole;
  for (size_t at = 48; at < 52; ++at) huge[at] = '\xff';
  CHECK_FALSE(decode_lease(huge).ok());
  std::string unsorted = whole;
  unsorted[52] = '\x0a';
  CHECK(decode_lease(unsorted).status().message().find("out of order") != std::string::npos);
}

TEST_CASE("elements that the queue has not lent, or that have ended, can't be invented") {
  for (const uint64_t invented : {uint64_t{7}, uint64_t{12}, ~uint64_t{0}}) {
    Lease lease = some_lease();
    lease.number = invented;
    CHECK(decode_lease(encode_lease(lease)).status().message().find("does not list as open") !=
          std::string::npos);
    CHECK(check_lease(encode_lease(lease)) == decode_lease(encode_lease(lease)).status());
  }
}

}  // namespace
}  // namespace millrace

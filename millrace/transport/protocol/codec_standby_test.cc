#include "millrace/transport/protocol/codec_standby.h"

#include <doctest/doctest.h>

namespace millrace::transport {
namespace {

const Term kPairedTerm{.number = 7, .owner = ~uint64_t{0}, .since = 5, .standby = 300};

template <class Message>
Message sent_and_read(const Message& message) {
  const auto bytes = encode(message);
  REQUIRE(bytes.ok());
  Message read;
  REQUIRE(decode(Chunks(bytes->join()), read).ok());
  return read;
}

TEST_CASE("what is asked of a witness and what it answers arrives as it was sent") {
  const WitnessRequest asked = sent_and_read(WitnessRequest{
      .state = "/job:ps/task:0", .wanted = kPairedTerm, .address = "a:1", .newer_than = 9});
  CHECK(asked.state == "/job:ps/task:0");
  CHECK(asked.wanted == kPairedTerm);
  CHECK(asked.address == "a:1");
  CHECK(asked.newer_than == 9);
  CHECK(sent_and_read(WitnessRequest{}).wanted.number == 0);

  const WitnessReply told =
      sent_and_read(WitnessReply{4, {{"x", kPairedTerm, "a:1"}, {"y", {}, "b:2"}}});
  CHECK(told.version == 4);
  CHECK(told.states == std::vector<WitnessedState>{{"x", kPairedTerm, "a:1"}, {"y", {}, "b:2"}});
}

TEST_CASE("a part of a side's message arrives as it was sent, whatever its kind") {
  using Kind = StandbyMessage::Kind;
  for (const Kind kind : {Kind::join, Kind::whole, Kind::group, Kind::has, Kind::news}) {
    const StandbyParcel parcel{
        .state = "s",
        .address = "a:1",
        .message = {.kind = kind, .store = 3, .term = kPairedTerm, .kept = {5, 11}},
        .part = 2,
        .is_last = false,
        .records = std::string("\0\1\xff", 3)};
    const StandbyParcel read = sent_and_read(parcel);
    CHECK(read.message.kind == kind);
    CHECK(read.message.store == 3);
    CHECK(read.message.term == kPairedTerm);
    CHECK(read.message.kept == KeptStream{5, 11});
    CHECK(read.part == 2);
    CHECK_FALSE(read.is_last);
    CHECK(read.records == parcel.records);
    CHECK(read.address == "a:1");
  }
  CHECK(sent_and_read(StandbyParcel{}).is_last);
}

TEST_CASE("what nobody sends is refused with words, at whatever byte it is cut") {
  const auto bytes = encode(WitnessReply{4, {{"state", kPairedTerm, "a:1"}}});
  REQUIRE(bytes.ok());
  const std::string whole = bytes->join();
  int refused = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    WitnessReply reply;
    if (!decode(Chunks(std::string_view(whole).substr(0, size)), reply).ok()) ++refused;
  }
  CHECK(refused > static_cast<int>(whole.size()) / 2);
  StandbyParcel parcel;
  const std::string_view of_kind_five("\x18\x05", 2);
  CHECK(decode(Chunks(of_kind_five), parcel) ==
        invalid("a side of a state sends a message of kind 5, which is not known here"));
}

}  // namespace
}  // namespace millrace::transport

#include "millrace/op/rendezvous.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

constexpr std::string_view kPs = "/job:ps/replica:0/task:0/device:CPU:0";
constexpr std::string_view kWorker = "/job:worker/replica:0/task:0/device:CPU:0";

TEST_CASE("a key is the text that TensorFlow's peers build") {
  CHECK(RendezvousKey::make(kPs, 0xdeadbeef, kWorker, "edge_12_w/read").text ==
        "/job:ps/replica:0/task:0/device:CPU:0;00000000deadbeef;"
        "/job:worker/replica:0/task:0/device:CPU:0;edge_12_w/read;0:0");
}

TEST_CASE("the same channel in another frame and iteration differs only in its end") {
  const RendezvousKey key = RendezvousKey::make(kPs, 1, kWorker, "x");
  CHECK(key.in(18186195969791715286u, 7).text ==
        RendezvousKey::make(kPs, 1, kWorker, "x", 18186195969791715286u, 7).text);
  CHECK(key.in(0, 0).text == key.text);
}

TEST_CASE("a key is read back part by part") {
  const RendezvousKey key = RendezvousKey::make(kPs, ~uint64_t{0}, kWorker, "x:0", 3, 4);
  const auto parts = RendezvousKey::parse(key.text);
  REQUIRE(parts.ok());
  CHECK(parts->source_device == kPs);
  CHECK(parts->source_incarnation == ~uint64_t{0});
  CHECK(parts->destination.to_string() == kWorker);
  CHECK(parts->tensor_name == "x:0");
  CHECK(parts->frame_and_iteration == "3:4");
}

TEST_CASE("an empty source device means this task") {
  CHECK(RendezvousKey::parse(";0000000000000001;/cpu:0;x;0:0")->source.is_empty());
}

TEST_CASE("malformed keys are refused in TensorFlow's words") {
  CHECK(RendezvousKey::parse("abc").status().message() ==
        "Invalid  rendezvous key: abc (it must have exactly 5 parts between semicolons)");
  for (const char* text :
       {"", ";;;;", "a;b;c;d", ";1;;x;0:0;", "/job:1;1;/cpu:0;x;0:0", ";1g;;x;0:0", ";;;x;0:0",
        ";1;;;0:0", ";1;;x;", ";11111111111111111;;x;0:0"}) {
    CAPTURE(text);
    CHECK(RendezvousKey::parse(text).status().code() == Code::invalid_argument);
  }
}

}  // namespace
}  // namespace millrace

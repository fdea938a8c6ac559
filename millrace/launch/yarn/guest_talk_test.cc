#include "millrace/launch/yarn/guest_talk.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("what a door and a guest say is read as it was said") {
  const DoorIsOf door = parse_door(to_line(DoorIsOf{.task = "map:1", .nonce = "5f"})).value();
  CHECK(door.task == "map:1");
  CHECK(door.nonce == "5f");
  const GuestProof proof =
      parse_guest_proof(to_line(GuestProof{.nonce = "07", .proof = "ab"})).value();
  CHECK(proof.nonce == "07");
  CHECK(proof.proof == "ab");
  const std::vector<std::string> command = {"sh", "-c", "echo \"a\nb\" '$HOME'", ""};
  CHECK(parse_command_line(command_line(command)).value() == command);
}

TEST_CASE("a proof is of one token, one side and both nonces") {
  const std::string proof = guest_proof(GuestSide::door, "token", "5f", "07");
  CHECK(proof.size() == 64);
  CHECK(proof != guest_proof(GuestSide::guest, "token", "5f", "07"));
  CHECK(proof != guest_proof(GuestSide::door, "other", "5f", "07"));
  CHECK(proof != guest_proof(GuestSide::door, "token", "5e", "07"));
  CHECK(proof != guest_proof(GuestSide::door, "token", "5f", "08"));
  // As everybody's HMAC-SHA256 has it.
  CHECK(guest_proof(GuestSide::guest, "k", "a", "b") ==
        "1cb3f75f0e98bd26dcc318ba09856cf7d63cf05900b9cee79f427d79b8dd075c");
}

TEST_CASE("what makes no sense is no line of the talk") {
  for (const char* line : {"", "GET / HTTP/1.1", "[]", "{}", "{\"door\": 1}", "{\"command\": []}",
                           "{\"command\": [1]}", "{\"proof\": 5}"}) {
    CAPTURE(line);
    CHECK(!parse_door(line).ok());
    CHECK(!parse_guest_proof(line).ok());
    CHECK(!parse_command_line(line).ok());
  }
  CHECK(parse_door(R"({"door": 2, "task": "a:0", "nonce": "1"})")
            .status()
            .message()
            .find("another version") != std::string::npos);
}

TEST_CASE("pieces come whole, however they were cut") {
  const std::string bytes = to_bytes(GuestPieceKind::output, "some words") +
                            to_bytes(GuestPieceKind::input, "") +
                            to_bytes(GuestPieceKind::ended, "3");
  GuestPieces pieces;
  std::string heard;
  for (const char byte : bytes) {
    pieces.feed({&byte, 1});
    for (;;) {
      const std::optional<GuestPiece> piece = pieces.next().value();
      if (!piece) break;
      heard += static_cast<char>(piece->kind) + piece->bytes + ";";
    }
  }
  CHECK(heard == "osome words;i;x3;");
}

TEST_CASE("a piece of no kind, or that nobody could hold, ends the talk") {
  GuestPieces strange;
  strange.feed("GET / HTTP/1.1");
  CHECK(!strange.next().ok());
  GuestPieces large;
  large.feed(std::string("o\x7f\xff\xff\xff", 5));
  CHECK(!large.next().ok());
}

}  // namespace
}  // namespace millrace

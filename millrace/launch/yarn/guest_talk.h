// What is said between who runs a command beside a task on YARN (`millrace exec`), the guest, and
// the process that lets guests in where the task runs, the door (local_guest_door.h). Lines of JSON
// first, by which each shows the other that it knows the job's token without saying it:
//
//   door    {"door": 1, "task": "map:1", "nonce": "5f…"}
//   guest   {"nonce": "07…", "proof": "…"}
//   door    {"proof": "…"}
//   guest   {"command": ["ps", "-ef"]}
//
// A proof is HMAC-SHA256(token, "door 5f… 07…") in hexadecimal digits, of the guest with "guest"
// for "door". Then pieces, both ways:
//
//   | kind u8 | size u32, big-endian | bytes |
//
// Pure: values, and functions between them and bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

// No line of a stranger is longer; one with a command may be.
inline constexpr size_t kLongestGuestLine = 4096;
inline constexpr size_t kLongestGuestCommand = size_t{1} << 20;

// The first line of a door: whose it is.
struct DoorIsOf {
  std::string task = {};  // "map:1"
  std::string nonce = {};
};
// The door's has no nonce: it was said before.
struct GuestProof {
  std::string nonce = {};
  std::string proof = {};
};

enum class GuestSide : uint8_t { door, guest };
std::string guest_proof(GuestSide side, std::string_view token, std::string_view door_nonce,
                        std::string_view guest_nonce);

// With their ends.
std::string to_line(const DoorIsOf& door);
std::string to_line(const GuestProof& proof);
std::string command_line(const std::vector<std::string>& command);
// Errors: INVALID_ARGUMENT for what is none.
Result<DoorIsOf> parse_door(std::string_view line);
Result<GuestProof> parse_guest_proof(std::string_view line);
Result<std::vector<std::string>> parse_command_line(std::string_view line);

enum class GuestPieceKind : char {
  input = 'i',      // of the guest: what the command reads; of size 0: that was all
  output = 'o',     // of the door, these
  error = 'e',      //
  ended = 'x',      // with its exit code, in digits
  not_run = 'f',    // why the command can't be run
  task_gone = 'g',  // the task has ended, and all beside it with it
};

struct GuestPiece {
  GuestPieceKind kind = GuestPieceKind::input;
  std::string bytes = {};
};

std::string to_bytes(GuestPieceKind kind, std::string_view bytes);

// Pieces one behind the other, as they come.
class GuestPieces {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  // The next whole one, if there is one. Errors: INVALID_ARGUMENT for what is none; there are no
  // more then.
  Result<std::optional<GuestPiece>> next();

 private:
  std::string bytes_;
};

}  // namespace millrace

// What a task and the launcher of its job say to each other about files: lines, and bytes of which
// a line tells how many. One call after the other, each answered before the next.
//
//   task                                launcher
//   millrace-files 1 TOKEN              (nothing; a stranger is hung up on)
//   get DIGEST                          blob SIZE, and so many bytes
//                                       later WHY  it is not there yet: ask again
//   outputs map:1                       ok        a new collection begins
//   file SIZE EXECUTABLE PATH           go
//   (SIZE bytes)                        ok
//   done                                ok        all of it is where it is to be
//
//   anything that can't be              no WHY, and hung up on
//
// EXECUTABLE is 0 or 1. Pure: values, and functions between them and text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "millrace/base/result.h"

namespace millrace {

inline constexpr size_t kLongestFileCall = 8192;

struct FileGreeting {
  std::string token = {};
};
struct GetBlob {
  std::string digest = {};
};
struct BeginOutputs {
  std::string task = {};  // "map:1"
};
struct PutOutput {
  uint64_t size = 0;
  bool is_executable = false;
  std::string path = {};  // "model/weights.bin"; is_output_path()
};
struct EndOutputs {};
using FileCall = std::variant<FileGreeting, GetBlob, BeginOutputs, PutOutput, EndOutputs>;

struct BlobFollows {
  uint64_t size = 0;
};
struct NotYet {
  std::string why = {};
};
struct GoOn {};  // the bytes may come
struct IsDone {};
struct CanNotBe {
  std::string why = {};
};
using FileAnswer = std::variant<BlobFollows, NotYet, GoOn, IsDone, CanNotBe>;

// With their ends.
std::string to_line(const FileCall& call);
std::string to_line(const FileAnswer& answer);
// Without. Errors: INVALID_ARGUMENT for what is none.
Result<FileCall> parse_file_call(std::string_view line);
Result<FileAnswer> parse_file_answer(std::string_view line);

// Parts of plain names (placed_files.h) with "/" between them, at most 1,024 bytes.
bool is_output_path(std::string_view path);

}  // namespace millrace

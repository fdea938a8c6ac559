// What is asked of the folder of a job on YARN whose machines share none (folder_server.h): four
// calls of HTTP/1.1, each with the job's token.
//
//   POST /read                        body: "OFFSET NAME\n" for each file that is wanted
//     200: for each that has more, "NAME OFFSET SIZE\n" and so many bytes; then "more\n" if there
//          is still more of one, or "all\n"
//   PUT /container_2.out?at=OFFSET    body: what a task has written from there on
//   POST /wishes                      body: a line of scaling.h
//   POST /taken                       somebody has all that is left (staged_job.h)
//
//   Authorization: Bearer TOKEN
//
// And one more for who knows neither header nor query, as YARN when it brings files to machines: a
// secret of its own, which is no other call's, is the first part of the path. Ranges are not
// heeded, which HTTP leaves to servers.
//
//   GET /DOOR/files/0.tar.gz          200: the file. HEAD: how long that is
//
// What is written is written again without harm, so whoever does not hear an answer asks again.
// Pure: bytes in, values out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

struct FolderCall {
  std::string method = {};
  std::string path = {};  // "/read"; of a call by the door, without that: "/files/0.tar.gz"
  std::string token = {};
  std::string body = {};
  bool is_by_door = false;
};

// The calls of one connection, one behind the other.
class FolderCalls {
 public:
  // `token`: of the job; `door`: empty if there is none. What a stranger sends is not kept.
  explicit FolderCalls(std::string token, std::string door = "")
      : token_(std::move(token)), door_(std::move(door)) {}
  void feed(std::string_view bytes) { bytes_ += bytes; }
  // The next whole one, if there is one; one with another token comes without its body, and is the
  // last. Errors: INVALID_ARGUMENT for what is no such call, or a longer one than there are; the
  // connection makes no sense from there on.
  Result<std::optional<FolderCall>> next();
  // A stranger's has come.
  bool is_over() const { return is_over_; }

 private:
  bool shows_secret(FolderCall& call) const;

  std::string token_, door_, bytes_;
  bool is_over_ = false;
};

// With its head. `code`: of HTTP.
std::string folder_answer(int code, std::string_view body);
// The head of one whose body is a file.
std::string file_answer_head(uint64_t size);

// Of one file, from where on it is wanted, or what it has there.
struct FilePart {
  std::string name = {};
  uint64_t offset = 0;
  std::string bytes = {};
};

// Of a read: what is wanted, and what is answered.
std::string wanted_text(const std::vector<FilePart>& wanted);
Result<std::vector<FilePart>> parse_wanted(std::string_view text);
struct FileParts {
  std::vector<FilePart> parts = {};
  bool has_more = false;
};
std::string parts_text(const FileParts& parts);
Result<FileParts> parse_parts(std::string_view text);

// "/container_2.out?at=5": {"container_2.out", 5}. Errors: INVALID_ARGUMENT.
Result<FilePart> parse_written(std::string_view path);

// Names of the folder that may be read, and written, by whoever has the token: no other path.
bool may_read(std::string_view name);
bool may_write(std::string_view name);
// Of a call by the door: "/files/0.tar.gz".
bool may_fetch(std::string_view path);

}  // namespace millrace

#include "millrace/launch/shipping/file_calls.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

const std::string kDigest(64, '0');

std::string again(const FileCall& call) {
  std::string line = to_line(call);
  line.pop_back();
  const Result<FileCall> read = parse_file_call(line);
  return read.ok() ? to_line(*read) : std::string(read.status().message());
}

TEST_CASE("calls are read as they were written") {
  for (const FileCall& call :
       {FileCall(FileGreeting{"77"}), FileCall(GetBlob{kDigest}), FileCall(BeginOutputs{"map:1"}),
        FileCall(PutOutput{5, true, "model/a b.bin"}), FileCall(EndOutputs{})})
    CHECK(again(call) == to_line(call));
}

TEST_CASE("what is no call is none") {
  for (const char* line : {"", "get", "get 00", "get ../../etc/passwd", "outputs ", "outputs ../a",
                           "file 5 1 ", "file -1 0 a", "file x 0 a", "file 5 2 a", "file 5 0 ../a",
                           "file 5 0 /a", "file 5 0 a/../b", "file 5 0 a//b",
                           "file 99999999999999999999 0 a", "done it", "GET / HTTP/1.1"}) {
    INFO(line);
    CHECK(parse_file_call(line).status().code() == Code::invalid_argument);
  }
}

TEST_CASE("answers are read as they were written, and are of one line") {
  CHECK(std::get<BlobFollows>(parse_file_answer("blob 7").value()).size == 7);
  CHECK(std::holds_alternative<GoOn>(parse_file_answer("go").value()));
  CHECK(std::holds_alternative<IsDone>(parse_file_answer("ok").value()));
  CHECK(to_line(FileAnswer(CanNotBe{"a\nb"})) == "no a b\n");
  CHECK(std::get<CanNotBe>(parse_file_answer("no a b").value()).why == "a b");
  for (const char* line : {"", "blob", "blob x", "blob -1", "yes"})
    CHECK_FALSE(parse_file_answer(line).ok());
}

}  // namespace
}  // namespace millrace

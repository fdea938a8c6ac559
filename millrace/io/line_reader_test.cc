#include "millrace/io/line_reader.h"

#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"

namespace millrace::io {
namespace {

std::vector<std::string> lines_of(std::string text) {
  testing::MemoryFiles files;
  files.contents()["f"] = std::move(text);
  LineReader reader(files.open("f").value());
  std::vector<std::string> lines;
  for (std::string line; reader.next(&line).value();) lines.push_back(line);
  CHECK(reader.offset() == files.contents()["f"].size());
  return lines;
}

TEST_CASE("lines end with a newline, a return before it, or the file") {
  using Lines = std::vector<std::string>;
  CHECK(lines_of("a\nb\r\n\nlast") == Lines{"a", "b", "", "last"});
  CHECK(lines_of("a\n") == Lines{"a"});
  CHECK(lines_of("a\rb\n") == Lines{"ab"});
  CHECK(lines_of("\n\n") == Lines{"", ""});
  CHECK(lines_of("").empty());
}

TEST_CASE("a line that lies across pieces of the file is whole") {
  const std::string large(700'000, 'x');
  CHECK(lines_of("a\n" + large + "\nb") == std::vector<std::string>{"a", large, "b"});
}

TEST_CASE("a line without end is refused before it fills memory") {
  testing::MemoryFiles files;
  files.contents()["f"] = std::string(LineReader::kLongestLine + 1, 'x');
  LineReader reader(files.open("f").value());
  std::string line;
  CHECK(reader.next(&line).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace::io

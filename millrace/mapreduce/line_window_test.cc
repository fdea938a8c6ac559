// Lines of ranges of a file: each belongs to one side of a border.
#include "millrace/mapreduce/line_window.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"

namespace millrace::mapreduce {
namespace {

using millrace::testing::MemoryFiles;

std::unique_ptr<ReadableFile> file_of(MemoryFiles& files, const std::string& text) {
  files.contents()["text"] = text;
  return files.open("text").value();
}

// "position:text" of each line, or "position:size bytes" of one that is too long.
std::vector<std::string> lines_in(const ReadableFile& file, uint64_t begin, uint64_t end,
                                  uint64_t longest = 100, size_t window = 4) {
  LineWindow lines(file, begin, end, longest, window);
  std::vector<std::string> found;
  for (Line line; lines.next(&line).value();)
    found.push_back(line.is_too_long ? str_cat(line.position, ":", line.size, " bytes")
                                     : str_cat(line.position, ":", line.text));
  return found;
}

TEST_CASE("every line belongs to the side on which it begins, wherever the border is") {
  for (const std::string text :
       {"one\ntwo\n\nfour and more\n\n\nend", "one\r\ntwo\r\n", "\n", "\n\n", "no end", "x\n"}) {
    MemoryFiles files;
    const auto file = file_of(files, text);
    const std::vector<std::string> all = lines_in(*file, 0, text.size());
    for (uint64_t step = 1; step <= text.size(); ++step) {
      for (const size_t window : {1, 2, 3, 7, 64}) {
        std::vector<std::string> found;
        for (uint64_t begin = 0; begin < text.size(); begin += step)
          for (std::string& line :
               lines_in(*file, begin, std::min<uint64_t>(begin + step, text.size()), 100, window))
            found.push_back(std::move(line));
        CHECK_MESSAGE(found == all, text, " by ", step);
      }
    }
  }
}

TEST_CASE("ends are taken off: a line feed, and a return before it") {
  MemoryFiles files;
  const auto file = file_of(files, "a\r\nb\n\rc\r\n\r\nlast\r");
  CHECK(lines_in(*file, 0, 100) ==
        std::vector<std::string>{"0:a", "3:b", "5:\rc", "9:", "11:last\r"});
}

TEST_CASE("a line that is too long is told with its size and its beginning, and is not held") {
  MemoryFiles files;
  const auto file =
      file_of(files, "short\n" + std::string(1000, 'x') + "\nafter\n12345678\n123456789");
  CHECK(lines_in(*file, 0, 2000, 8) == std::vector<std::string>{"0:short", "6:1000 bytes",
                                                                "1007:after", "1013:12345678",
                                                                "1022:9 bytes"});
  LineWindow lines(*file, 6, 2000, 8, 4);
  Line line;
  REQUIRE(lines.next(&line).value());
  CHECK(line.text == "xxxxxxxx");
  // Its end belongs to nobody else.
  CHECK(lines_in(*file, 500, 2000, 8).front() == "1007:after");
}

TEST_CASE("a file that has become shorter ends where it ends") {
  MemoryFiles files;
  const auto file = file_of(files, "one\ntwo\n");
  CHECK(lines_in(*file, 4, 100) == std::vector<std::string>{"4:two"});
  CHECK(lines_in(*file, 50, 100).empty());
  CHECK(lines_in(*file_of(files, ""), 0, 10).empty());
}

}  // namespace
}  // namespace millrace::mapreduce

// Lines of ranges of a file: each belongs to one side of a border.
#include "millrace/mapreduce/line_window.h"

#include <algorithm>
#include <cstring>
#include <span>
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

// A file with one line of so many bytes, and "last" behind it; counts what is read of it.
class LongLine final : public ReadableFile {
 public:
  explicit LongLine(uint64_t length) : length_(length) {}
  Result<size_t> read(uint64_t offset, std::span<char> bytes) const override {
    const uint64_t left = size().value() - std::min(offset, size().value());
    const size_t some = std::min<uint64_t>(bytes.size(), left);
    std::memset(bytes.data(), 'x', some);
    const uint64_t behind = length_ - std::min(offset, length_);
    for (uint64_t i = behind; i < some; ++i)
      bytes[static_cast<size_t>(i)] = kLast[static_cast<size_t>(offset + i - length_)];
    num_read_ += some;
    return some;
  }
  Result<uint64_t> size() const override { return length_ + kLast.size(); }
  uint64_t num_read() const { return num_read_; }

 private:
  static constexpr std::string_view kLast = "\nlast";
  const uint64_t length_;
  mutable uint64_t num_read_ = 0;
};

TEST_CASE("a line of 3 GB is told with its size, and what follows is read") {
  const LongLine file(uint64_t{3} << 30);
  LineWindow lines(file, 0, uint64_t{1} << 40, 1000, 100'000);
  Line line;
  REQUIRE(lines.next(&line).value());
  CHECK(line.is_too_long);
  CHECK(line.size == uint64_t{3} << 30);
  CHECK(line.text == std::string(1000, 'x'));
  REQUIRE(lines.next(&line).value());
  CHECK(line.text == "last");
  CHECK_FALSE(lines.next(&line).value());
}

TEST_CASE("of a line that goes on for terabytes a range reads its own part") {
  const LongLine file(uint64_t{1} << 60);
  LineWindow lines(file, uint64_t{1} << 40, (uint64_t{1} << 40) + 1000, 100, 64);
  Line line;
  CHECK_FALSE(lines.next(&line).value());
  CHECK(file.num_read() < 1100);
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

// What a job reads: text files by lines, files of records, paths, or what a function gives; in
// splits, pieces of work that are told in a few words and read where they are mapped.
//
//   .input = mapreduce::text_files("texts/*.txt")
//   .input = "texts/*.txt"                                       // the same
//   .input = mapreduce::items([n = 0]() mutable -> std::optional<std::string> { ... })
//
// Patterns are those of io/glob.h; a path without *, ? and [ is taken as it is. Each file is read
// once, however many patterns match it. Paths are seen from where the `files` task runs. Values;
// read by several threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/io/byte_source.h"
#include "millrace/mapreduce/place.h"

namespace millrace::mapreduce {

// A piece of the input.
struct Split {
  std::string path;
  uint64_t begin = 0, end = 0;  // of text: bytes; of items: the number of the first one
  uint64_t weight = 1;          // how much work it is, beside others of its input
  bool is_own = false;          // the file was made for it, in the job's folder
};

// Who takes what an input has. Errors of it end the reading.
class Reading {
 public:
  virtual ~Reading() = default;
  virtual Status take(const Place& place, std::string_view record) = 0;
  // What can't be read, for this reason; no record for a file. An error if these are too many now.
  virtual Status reject(const Place& place, std::optional<std::string_view> record,
                        const Status& why) = 0;
};

// The splits of an input, one after the other. One thread.
class Splits {
 public:
  virtual ~Splits() = default;
  // Nothing at the end. Errors: those of the disk, of Reading::reject, of the input's own function.
  virtual Result<std::optional<Split>> next() = 0;
};

class Source {
 public:
  virtual ~Source() = default;
  // Errors: INVALID_ARGUMENT for arguments that make no sense.
  virtual Status check() const = 0;
  // `folder` is the job's own. What can't be looked at is rejected. All are referred to.
  virtual std::unique_ptr<Splits> splits(Files& files, const std::string& folder,
                                         Reading& reading) const = 0;
  // Reads a split. Errors: those of `reading`; what can't be read is rejected.
  virtual Status read(Files& files, const Split& split, Reading& reading) const = 0;
};

class Input {
 public:
  Input() = default;
  // NOLINTBEGIN(google-explicit-constructor): a pattern stands for the text files that it names.
  Input(const char* pattern) : Input(std::string(pattern == nullptr ? "" : pattern)) {}
  Input(std::string pattern);
  Input(std::shared_ptr<const Source> source) : source_(std::move(source)) {}
  // NOLINTEND(google-explicit-constructor)

  bool has_value() const { return source_ != nullptr; }
  const Source& operator*() const { return *source_; }
  const Source* operator->() const { return source_.get(); }

 private:
  std::shared_ptr<const Source> source_;
};

struct TextOptions {
  // Bytes that one mapper gets at a time; by default a 16th of all, but 8 to 64 MiB: enough pieces
  // that all mappers have work to the end, and not so many that they cost more than they are.
  std::optional<uint64_t> split = {};
  // Whether a line must be UTF-8, or is a bad record.
  enum class Encoding : uint8_t { utf8, bytes } encoding = Encoding::utf8;
  // Bytes that a line may have; a longer one is a bad record, and never in memory.
  uint64_t longest = 16 << 20;
};
// Lines, without their ends (\n or \r\n). A line that crosses a border between two splits belongs
// to the one in which it begins. Its place is the byte at which it does.
Input text_files(std::string pattern, TextOptions options = {});
Input text_files(std::vector<std::string> patterns, TextOptions options = {});

// Records of TFRecord files; a mapper gets a file at a time. A damaged file is one bad record; the
// records before are read. A record's place is its number in its file.
Input record_files(std::vector<std::string> patterns, io::Packing packing = io::Packing::none);

// The paths of files, which a mapper opens itself; each is a split.
Input paths(std::vector<std::string> patterns);

// What a function gives, until it gives nothing. It is called by the task `files` alone, by one
// thread, and no more often than mappers can follow; `batch` items make a split, or 4 MiB of them.
// Each run of a job begins with a copy of it.
Input items(std::function<std::optional<std::string>()> next, int batch = 1000);

}  // namespace millrace::mapreduce

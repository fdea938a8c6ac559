#include "millrace/mapreduce/input.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <set>
#include <utility>

#include "millrace/io/glob.h"
#include "millrace/io/record_reader.h"
#include "millrace/io/records.h"
#include "millrace/mapreduce/functions.h"
#include "millrace/mapreduce/line_window.h"
#include "millrace/mapreduce/utf8.h"

namespace millrace::mapreduce {

namespace {

constexpr uint64_t kBatchBytes = 4 << 20;

struct FoundFile {
  std::string path;
  uint64_t size = 0;
};

// The files that patterns name, each once, in the order of patterns and then of names.
class FoundFiles {
 public:
  FoundFiles(Files& files, const std::vector<std::string>& patterns, Reading& reading)
      : files_(files), patterns_(patterns), reading_(reading) {}

  Result<std::optional<FoundFile>> next() {
    for (;;) {
      while (at_ == matches_.size()) {
        if (pattern_ == patterns_.size()) return std::optional<FoundFile>();
        MR_TRY(expand(patterns_[pattern_++]));
      }
      // A folder that is gone has no path: what is seen from it can't be looked at either.
      std::error_code ignored;
      const std::string& match = matches_[at_++];
      const auto seen = std::filesystem::absolute(match, ignored);
      std::string path = ignored ? match : seen.lexically_normal().string();
      if (!seen_.insert(path).second) continue;
      const Result<FileFacts> facts = files_.facts(path);
      Status problem = facts.status();
      if (facts.ok() && facts->is_directory)
        problem = failed_precondition(path, "; is a directory");
      if (problem.ok()) return std::optional<FoundFile>({std::move(path), facts->size});
      MR_TRY(reading_.reject({path, 0}, std::nullopt, problem));
    }
  }

 private:
  Status expand(const std::string& pattern) {
    at_ = 0;
    if (pattern.find_first_of("*?[") == std::string::npos) {
      matches_ = {pattern};
      return {};
    }
    MR_ASSIGN(matches_, io::find_matching(files_, pattern));
    if (!matches_.empty()) return {};
    std::error_code ignored;
    return not_found("no file matches the input '", pattern, "' (seen from ",
                     std::filesystem::current_path(ignored).string(), ")");
  }

  Files& files_;
  const std::vector<std::string>& patterns_;
  Reading& reading_;
  size_t pattern_ = 0;
  std::vector<std::string> matches_;
  size_t at_ = 0;
  std::set<std::string> seen_;
};

Status check_patterns(const std::vector<std::string>& patterns) {
  if (patterns.empty()) return invalid("the input has no patterns; give a path or a glob");
  for (const std::string& pattern : patterns)
    if (pattern.empty()) return invalid("the input has an empty pattern; give a path or a glob");
  return {};
}

// Each file whole.
class WholeFiles final : public Splits {
 public:
  WholeFiles(Files& files, const std::vector<std::string>& patterns, Reading& reading)
      : found_(files, patterns, reading) {}
  Result<std::optional<Split>> next() override {
    MR_ASSIGN(std::optional<FoundFile> file, found_.next());
    if (!file) return std::optional<Split>();
    const uint64_t weight = std::max<uint64_t>(file->size, 1);
    return std::optional<Split>({.path = std::move(file->path), .weight = weight});
  }

 private:
  FoundFiles found_;
};

// ---- Text ---------------------------------------------------------------------------------------

// How large splits are depends on how much there is, so all files are found before the first one.
class TextSplits final : public Splits {
 public:
  TextSplits(Files& files, const std::vector<std::string>& patterns, std::optional<uint64_t> split,
             Reading& reading)
      : found_(files, patterns, reading), split_(split) {}
  Result<std::optional<Split>> next() override {
    if (!std::exchange(is_begun_, true)) MR_TRY(find_all());
    while (!files_.empty() && begin_ >= files_.front().size) {
      files_.pop_front();
      begin_ = 0;
    }
    if (files_.empty()) return std::optional<Split>();
    const FoundFile& file = files_.front();
    const uint64_t begin = begin_;
    const uint64_t end = begin + std::min(*split_, file.size - begin);
    begin_ = end;
    return std::optional<Split>(
        {.path = file.path, .begin = begin, .end = end, .weight = end - begin});
  }

 private:
  static constexpr uint64_t kUsualCount = 16, kLeast = 8 << 20, kMost = 64 << 20;

  Status find_all() {
    uint64_t total = 0;
    for (;;) {
      MR_ASSIGN(std::optional<FoundFile> file, found_.next());
      if (!file) break;
      total += file->size;
      files_.push_back(*std::move(file));
    }
    if (!split_) split_ = std::clamp(total / kUsualCount, kLeast, kMost);
    return {};
  }

  FoundFiles found_;
  std::optional<uint64_t> split_;
  bool is_begun_ = false;
  std::deque<FoundFile> files_;  // the front one is being split
  uint64_t begin_ = 0;           // of the next split of that
};

class TextSource final : public Source {
 public:
  TextSource(std::vector<std::string> patterns, TextOptions options)
      : patterns_(std::move(patterns)), options_(options) {}

  Status check() const override {
    MR_TRY(check_patterns(patterns_));
    if (options_.split == 0) return invalid("split is 0; it must be bytes, at least 1");
    if (options_.longest == 0 || options_.longest > kLongestLine)
      return invalid("longest is ", options_.longest, "; it must be bytes, 1 to ", kLongestLine);
    return {};
  }
  std::unique_ptr<Splits> splits(Files& files, const std::string&,
                                 Reading& reading) const override {
    return std::make_unique<TextSplits>(files, patterns_, options_.split, reading);
  }
  Status read(Files& files, const Split& split, Reading& reading) const override {
    const auto file = files.open(split.path);
    if (!file.ok()) return reading.reject({split.path, split.begin}, std::nullopt, file.status());
    LineWindow lines(**file, split.begin, split.end, options_.longest);
    for (;;) {
      Line line;
      const Result<bool> is_one = lines.next(&line);
      if (!is_one.ok())
        return reading.reject({split.path, lines.position()}, std::nullopt, is_one.status());
      if (!*is_one) return {};
      MR_TRY(pass_on({split.path, line.position}, line, reading));
    }
  }

 private:
  static constexpr uint64_t kLongestLine = uint64_t{1} << 29;

  Status pass_on(const Place& place, const Line& line, Reading& reading) const {
    if (line.is_too_long)
      return reading.reject(
          place, line.text,
          out_of_range("a line of ", line.size, " bytes; the longest may have ", options_.longest));
    if (options_.encoding == TextOptions::Encoding::utf8 && !is_utf8(line.text))
      return reading.reject(place, line.text, invalid("the line is no UTF-8"));
    return reading.take(place, line.text);
  }

  const std::vector<std::string> patterns_;
  const TextOptions options_;
};

// ---- Records ------------------------------------------------------------------------------------

// Gives all records of a file; `first` is the first one's number.
Status read_records(Files& files, const std::string& path, std::string_view told_as,
                    io::Packing packing, uint64_t first, Reading& reading) {
  auto file = files.open(path);
  if (!file.ok()) return reading.reject({path, first}, std::nullopt, file.status());
  io::RecordReader records(io::bytes_of(*std::move(file), packing));
  std::string record;
  for (uint64_t number = first;; ++number) {
    const Result<bool> is_one = records.next(&record);
    if (!is_one.ok()) return reading.reject({path, number}, std::nullopt, is_one.status());
    if (!*is_one) return {};
    MR_TRY(reading.take({told_as, number}, record));
  }
}

class RecordSource final : public Source {
 public:
  RecordSource(std::vector<std::string> patterns, io::Packing packing)
      : patterns_(std::move(patterns)), packing_(packing) {}

  Status check() const override { return check_patterns(patterns_); }
  std::unique_ptr<Splits> splits(Files& files, const std::string&,
                                 Reading& reading) const override {
    return std::make_unique<WholeFiles>(files, patterns_, reading);
  }
  Status read(Files& files, const Split& split, Reading& reading) const override {
    return read_records(files, split.path, split.path, packing_, 0, reading);
  }

 private:
  const std::vector<std::string> patterns_;
  const io::Packing packing_;
};

// ---- Paths --------------------------------------------------------------------------------------

class PathSource final : public Source {
 public:
  explicit PathSource(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

  Status check() const override { return check_patterns(patterns_); }
  std::unique_ptr<Splits> splits(Files& files, const std::string&,
                                 Reading& reading) const override {
    return std::make_unique<WholeFiles>(files, patterns_, reading);
  }
  Status read(Files&, const Split& split, Reading& reading) const override {
    return reading.take({split.path, 0}, split.path);
  }

 private:
  const std::vector<std::string> patterns_;
};

// ---- Items --------------------------------------------------------------------------------------

using NextItem = std::function<std::optional<std::string>()>;

// A batch is a file of records in the job's folder; over the queue goes its name alone.
class ItemSplits final : public Splits {
 public:
  ItemSplits(Files& files, std::string folder, NextItem next, int batch)
      : files_(files), folder_(std::move(folder)), next_(std::move(next)), batch_(batch) {}

  Result<std::optional<Split>> next() override {
    std::string bytes;
    int count = 0;
    while (!is_over_ && count < batch_ && bytes.size() < kBatchBytes) {
      std::optional<std::string> item;
      MR_TRY(status_of([&] { item = next_(); })
                 .with("the function of items")
                 .with("the input can't be divided"));
      if (!item) {
        is_over_ = true;
        break;
      }
      bytes += io::framed_record(*item);
      ++count;
    }
    if (count == 0) return std::optional<Split>();
    Split split{.path = str_cat(folder_, "/items-", first_),
                .begin = first_,
                .weight = static_cast<uint64_t>(count),
                .is_own = true};
    first_ += static_cast<uint64_t>(count);
    MR_ASSIGN(const auto file, files_.create(split.path));
    MR_TRY(file->append(bytes));
    MR_TRY(file->close());
    return std::optional<Split>(std::move(split));
  }

 private:
  Files& files_;
  const std::string folder_;
  const NextItem next_;
  const int batch_;
  uint64_t first_ = 0;
  bool is_over_ = false;
};

class ItemSource final : public Source {
 public:
  ItemSource(NextItem next, int batch) : next_(std::move(next)), batch_(batch) {}

  Status check() const override {
    if (!next_) return invalid("items() takes a function that gives the next item, or nothing");
    return batch_ >= 1 ? Status() : invalid("batch is ", batch_, "; it must be at least 1");
  }
  std::unique_ptr<Splits> splits(Files& files, const std::string& folder, Reading&) const override {
    return std::make_unique<ItemSplits>(files, folder, next_, batch_);
  }
  Status read(Files& files, const Split& split, Reading& reading) const override {
    return read_records(files, split.path, "item", io::Packing::none, split.begin, reading);
  }

 private:
  const NextItem next_;
  const int batch_;
};

}  // namespace

Input::Input(std::string pattern) : Input(text_files(std::move(pattern))) {}

Input text_files(std::string pattern, TextOptions options) {
  return text_files(std::vector{std::move(pattern)}, options);
}
Input text_files(std::vector<std::string> patterns, TextOptions options) {
  return {std::make_shared<const TextSource>(std::move(patterns), options)};
}
Input record_files(std::vector<std::string> patterns, io::Packing packing) {
  return {std::make_shared<const RecordSource>(std::move(patterns), packing)};
}
Input paths(std::vector<std::string> patterns) {
  return {std::make_shared<const PathSource>(std::move(patterns))};
}
Input items(std::function<std::optional<std::string>()> next, int batch) {
  return {std::make_shared<const ItemSource>(std::move(next), batch)};
}

}  // namespace millrace::mapreduce

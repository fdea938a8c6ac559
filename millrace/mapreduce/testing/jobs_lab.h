// What tests of jobs share: folders of texts, and lines of what a job has made. For tests only.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/base/testing/scratch_directory.h"
#include "millrace/io/local_files.h"
#include "millrace/mapreduce/merge.h"
#include "millrace/mapreduce/run_writer.h"

namespace millrace::mapreduce::testing {

inline void write_file(const std::string& path, std::string_view bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator(folder))
    names.insert(each.path().filename().string());
  return names;
}

// All pairs, "key=value", of a merge; or the error.
inline std::string pairs_of(Result<Merge> merge) {
  if (!merge.ok()) return merge.status().to_string();
  std::string all;
  for (;;) {
    const Result<bool> is_one = merge->next();
    if (!is_one.ok()) return is_one.status().to_string();
    if (!*is_one) return all;
    str_append(&all, all.empty() ? "" : " ", merge->key(), "=", merge->value());
  }
}

// Writes pairs as one segment of a new file.
inline Segment run_of(Files& files, const std::string& path,
                      const std::vector<std::pair<std::string, std::string>>& pairs) {
  RunWriter writer = RunWriter::create(files, path).value();
  for (const auto& [key, value] : pairs)
    if (!writer.add(key, value).ok()) std::abort();
  Segment segment = writer.end_segment().value();
  if (!writer.close().ok()) std::abort();
  return segment;
}

// The local disk, with room for so many bytes more: whatever is appended beyond them is refused, as
// a full disk does.
class FullDisk final : public Files {
 public:
  explicit FullDisk(size_t room) : left_(room) {}

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return disk_.open(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    MR_ASSIGN(auto file, disk_.create(path));
    return std::unique_ptr<WritableFile>(std::make_unique<Writable>(*this, path, std::move(file)));
  }
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override {
    return disk_.append_to(path);
  }
  Result<FileFacts> facts(const std::string& path) override { return disk_.facts(path); }
  Result<std::vector<std::string>> list(const std::string& path) override {
    return disk_.list(path);
  }
  Status make_directories(const std::string& path) override { return disk_.make_directories(path); }
  Status remove(const std::string& path) override { return disk_.remove(path); }
  Status remove_directory(const std::string& path) override { return disk_.remove_directory(path); }
  Status rename(const std::string& from, const std::string& to) override {
    return disk_.rename(from, to);
  }

 private:
  class Writable final : public WritableFile {
   public:
    Writable(FullDisk& disk, std::string path, std::unique_ptr<WritableFile> file)
        : disk_(disk), path_(std::move(path)), file_(std::move(file)) {}
    Status append(std::string_view bytes) override {
      if (bytes.size() > disk_.left_)
        return error(Code::resource_exhausted, path_, "; No space left on device");
      disk_.left_ -= bytes.size();
      return file_->append(bytes);
    }
    Status flush() override { return file_->flush(); }
    // What a machine that goes down would leave is nobody's business here.
    Status sync() override { return file_->flush(); }
    Status close() override { return file_->close(); }

   private:
    FullDisk& disk_;
    const std::string path_;
    const std::unique_ptr<WritableFile> file_;
  };

  LocalFiles disk_;
  size_t left_;
};

}  // namespace millrace::mapreduce::testing

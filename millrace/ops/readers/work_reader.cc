#include "millrace/ops/readers/work_reader.h"

#include <algorithm>

#include "millrace/base/str_cat.h"
#include "millrace/io/line_reader.h"
#include "millrace/io/record_reader.h"

namespace millrace {
namespace {

class WorkLines final : public WorkReader {
 public:
  WorkLines(std::string work, std::unique_ptr<io::ByteSource> bytes)
      : work_(std::move(work)), lines_(std::move(bytes)) {}

  Status skip_headers(int64_t count) {
    std::string line;
    for (; number_ < count; ++number_) {
      MR_ASSIGN(const bool is_there, lines_.next(&line));
      if (!is_there) return {};
    }
    return {};
  }

  Result<Found> next(std::string* key, std::string* value) override {
    MR_ASSIGN(const bool is_there, lines_.next(value));
    if (!is_there) return Found::end;
    ++number_;
    if (key != nullptr) *key = str_cat(work_, ":", number_);
    return Found::record;
  }

 private:
  const std::string work_;
  io::LineReader lines_;
  int64_t number_ = 0;
};

class WorkRecords final : public WorkReader {
 public:
  WorkRecords(std::string work, std::unique_ptr<io::ByteSource> bytes)
      : work_(std::move(work)), records_(std::move(bytes)) {}

  Result<Found> next(std::string* key, std::string* value) override {
    if (key != nullptr) *key = str_cat(work_, ":", records_.offset());
    MR_ASSIGN(const bool is_there, records_.next(value).with(work_));
    return is_there ? Found::record : Found::end;
  }

 private:
  const std::string work_;
  io::RecordReader records_;
};

// Opens the file when it is read: one that is not there is tried again, as in TensorFlow.
class WholeFile final : public WorkReader {
 public:
  WholeFile(std::string work, Files& files) : work_(std::move(work)), files_(files) {}

  Result<Found> next(std::string* key, std::string* value) override {
    MR_ASSIGN(auto file, files_.open(work_));
    const auto bytes = io::bytes_of(std::move(file), io::Packing::none);
    if (key != nullptr) *key = work_;
    value->clear();
    MR_TRY(io::read_exactly(*bytes, ~uint64_t{0}, value).status());
    return Found::last_record;
  }

 private:
  const std::string work_;
  Files& files_;
};

class WorkItself final : public WorkReader {
 public:
  explicit WorkItself(std::string work) : work_(std::move(work)) {}
  Result<Found> next(std::string* key, std::string* value) override {
    if (key != nullptr) *key = work_;
    *value = work_;
    return Found::last_record;
  }

 private:
  const std::string work_;
};

// Holds the bytes from the record's beginning on, with as many behind it as the footer has: so it
// knows, without the size of the file, that a record is none.
class FixedRecords final : public WorkReader {
 public:
  FixedRecords(std::string work, std::unique_ptr<io::ByteSource> bytes, const FixedLengths& lengths)
      : work_(std::move(work)), bytes_(std::move(bytes)), lengths_(lengths) {}

  Status skip_header() {
    MR_ASSIGN(const bool is_whole, io::skip(*bytes_, static_cast<uint64_t>(lengths_.header)));
    if (is_whole) return {};
    return out_of_range(work_, ": the header has ", lengths_.header, " bytes, the file fewer");
  }

  Result<Found> next(std::string* key, std::string* value) override {
    MR_ASSIGN(const bool is_there, advance());
    if (!is_there) return Found::end;
    value->assign(held_, 0, static_cast<size_t>(lengths_.record));
    if (key != nullptr) *key = str_cat(work_, ":", number_);
    ++number_;
    return Found::record;
  }

 private:
  // False if no record is left.
  Result<bool> advance() {
    if (number_ > 0) {
      const auto hop = static_cast<uint64_t>(lengths_.hop == 0 ? lengths_.record : lengths_.hop);
      const uint64_t from_held = std::min<uint64_t>(hop, held_.size());
      held_.erase(0, from_held);
      MR_ASSIGN(const bool is_there, io::skip(*bytes_, hop - from_held));
      if (!is_there) return false;
    }
    const auto wanted = static_cast<uint64_t>(lengths_.record) + lengths_.footer;
    return io::read_exactly(*bytes_, wanted - held_.size(), &held_);
  }

  const std::string work_;
  const std::unique_ptr<io::ByteSource> bytes_;
  const FixedLengths lengths_;
  std::string held_;
  int64_t number_ = 0;
};

}  // namespace

OpenWork lines_of_work(int64_t skip_header_lines, io::Packing packing) {
  return [skip_header_lines, packing](
             Files& files, const std::string& work) -> Result<std::unique_ptr<WorkReader>> {
    MR_ASSIGN(auto file, files.open(work));
    auto made = std::make_unique<WorkLines>(work, io::bytes_of(std::move(file), packing));
    MR_TRY(made->skip_headers(skip_header_lines));
    return std::unique_ptr<WorkReader>(std::move(made));
  };
}

OpenWork records_of_work(io::Packing packing) {
  return [packing](Files& files, const std::string& work) -> Result<std::unique_ptr<WorkReader>> {
    MR_ASSIGN(auto file, files.open(work));
    return std::unique_ptr<WorkReader>(
        std::make_unique<WorkRecords>(work, io::bytes_of(std::move(file), packing)));
  };
}

OpenWork whole_files_of_work() {
  return [](Files& files, const std::string& work) -> Result<std::unique_ptr<WorkReader>> {
    return std::unique_ptr<WorkReader>(std::make_unique<WholeFile>(work, files));
  };
}

OpenWork work_itself() {
  return [](Files&, const std::string& work) -> Result<std::unique_ptr<WorkReader>> {
    return std::unique_ptr<WorkReader>(std::make_unique<WorkItself>(work));
  };
}

OpenWork fixed_records_of_work(const FixedLengths& lengths) {
  return [lengths](Files& files, const std::string& work) -> Result<std::unique_ptr<WorkReader>> {
    MR_ASSIGN(auto file, files.open(work));
    auto made = std::make_unique<FixedRecords>(work, io::bytes_of(std::move(file), lengths.packing),
                                               lengths);
    MR_TRY(made->skip_header());
    return std::unique_ptr<WorkReader>(std::move(made));
  };
}

}  // namespace millrace

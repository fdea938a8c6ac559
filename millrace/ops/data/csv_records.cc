#include "millrace/ops/data/csv_records.h"

#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace::data {
namespace {

// Quotes that nobody closes must not fill memory.
constexpr size_t kLongestRecord = size_t{64} << 20;

class CsvRecords final : public WorkReader {
 public:
  CsvRecords(CsvFormat format, std::unique_ptr<io::ByteSource> bytes)
      : format_(std::move(format)), source_(std::move(bytes)) {}

  // A header that can't be read is told of in the place of a record; the file goes on behind it.
  void skip_header(const std::string& file) {
    const Status read = read_header();
    if (!read.ok()) header_ = invalid("Can't read header of file ", file, ": ", read.message());
  }

  Result<Found> next(std::string*, std::string* value) override {
    is_sound_ = !header_.ok();
    if (is_sound_) return std::exchange(header_, Status());
    MR_ASSIGN(const bool is_there, next_record(value));
    return is_there ? Found::record : Found::end;
  }
  bool is_sound() const override { return is_sound_; }

 private:
  Status read_header() {
    std::string record, field;
    MR_ASSIGN(const bool is_there, next_record(&record));
    if (!is_there) return invalid("the file is empty");
    CsvRecordFields fields(format_, record);
    for (bool has_more = true; has_more;) {
      MR_ASSIGN(has_more, fields.next(&field));
    }
    return {};
  }

  // False if the file has no more.
  Result<bool> next_record(std::string* record) {
    record->clear();
    CsvScan scan(format_);
    for (bool has_begun = false;;) {
      MR_ASSIGN(const std::string_view there, source_->look());
      if (there.empty()) {
        if (!scan.is_open()) return has_begun;
        return invalid("Reached end of file without closing quoted field in record");
      }
      // The other half of the end of the line before.
      if (std::exchange(is_behind_return_, false) && there.front() == '\n') {
        source_->take(1);
        continue;
      }
      has_begun = true;
      MR_ASSIGN(const bool is_whole, take_some(there, scan, record));
      if (is_whole) return true;
    }
  }

  // Of what is there; whether it has the record's end.
  Result<bool> take_some(std::string_view there, CsvScan& scan, std::string* record) {
    size_t taken = 0;
    bool is_whole = false;
    while (taken < there.size() && !is_whole)
      is_whole = scan.take(there[taken++]) == CsvScan::At::record_end;
    const size_t end = is_whole ? taken - 1 : taken;
    if (record->size() + end > kLongestRecord)
      return invalid("a CSV record is longer than ", kLongestRecord,
                     " bytes: are quotes around a field not closed?");
    record->append(there.substr(0, end));
    is_behind_return_ = is_whole && there[end] == '\r';
    source_->take(taken);
    return is_whole;
  }

  const CsvFormat format_;
  const std::unique_ptr<io::ByteSource> source_;
  bool is_behind_return_ = false;
  Status header_;  // what is wrong with it, as long as nobody was told
  bool is_sound_ = false;
};

}  // namespace

OpenWork csv_records_of_work(const CsvFiles& given) {
  return [given](Files& files, const std::string& work) -> Result<std::unique_ptr<WorkReader>> {
    MR_ASSIGN(auto file, files.open(work));
    auto made =
        std::make_unique<CsvRecords>(given.format, io::bytes_of(std::move(file), given.packing));
    if (given.has_header) made->skip_header(work);
    return std::unique_ptr<WorkReader>(std::move(made));
  };
}

}  // namespace millrace::data

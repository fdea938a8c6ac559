// Part of families.h: register_dataset_files, records of files one after another.
#include <deque>
#include <utility>

#include "millrace/io/byte_source.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/readers/work_reader.h"

namespace millrace::data {
namespace {

// What is read at once: enough that a hand-over costs little, and a bound for what is held.
constexpr size_t kMostRecords = 1024, kMostBytes = 256 << 10;

// Reads files in pieces of many records, where blocking is allowed, one piece ahead of those who
// take them. Shared by the walk and by the reading that is under way, which may end after it.
class Reading final : public std::enable_shared_from_this<Reading> {
 public:
  Reading(std::vector<std::string> names, OpenWork open, IterationHost::Machine machine)
      : names_(std::move(names)), open_(std::move(open)), machine_(machine) {}

  void close() {
    MutexLock lock(mutex_);
    is_closed_ = true;
    waiting_.reset();
  }

  // False if a piece is on its way: then the waker is told. The piece may be empty at the end.
  bool take(Pull& pull, std::deque<std::string>* records, Status* status, bool* is_over) {
    for (;;) {
      {
        MutexLock lock(mutex_);
        if (has_piece_) {
          *records = std::move(piece_.records);
          *status = std::move(piece_.status);
          *is_over = piece_.is_over;
          piece_ = {};
          has_piece_ = false;
          if (!*is_over) start();
          return true;
        }
        start();
        if (machine_.blocking != nullptr) {
          waiting_ = pull.waker;
          return false;
        }
      }
      read();
    }
  }

 private:
  struct Piece {
    std::deque<std::string> records;
    Status status;  // behind the records
    bool is_over = false;
  };

  void start() MR_REQUIRES(mutex_) {
    if (is_reading_ || has_piece_) return;
    is_reading_ = true;
    if (machine_.blocking == nullptr) return;  // read() follows
    machine_.blocking->post([self = shared_from_this()] { self->read(); });
  }

  void read() {
    Piece piece = next_piece();
    std::shared_ptr<Waker> waiting;
    {
      MutexLock lock(mutex_);
      piece_ = std::move(piece);
      has_piece_ = true;
      is_reading_ = false;
      waiting = std::move(waiting_);
    }
    if (waiting != nullptr) waiting->wake();
  }

  bool is_closed() const {
    MutexLock lock(mutex_);
    return is_closed_;
  }

  Piece next_piece() {
    Piece piece;
    size_t bytes = 0;
    std::string key, value;
    while (piece.records.size() < kMostRecords && bytes < kMostBytes && !is_closed()) {
      if (current_ == nullptr) {
        if (next_name_ == names_.size()) {
          piece.is_over = true;
          break;
        }
        auto opened = open_(*machine_.files, names_[next_name_++]);
        if (!opened.ok()) {
          piece.status = std::move(opened).status();
          break;
        }
        current_ = *std::move(opened);
      }
      Result<Found> found = current_->next(&key, &value);
      if (!found.ok()) {
        // The rest of the file is not to be trusted.
        current_.reset();
        piece.status = std::move(found).status();
        break;
      }
      if (*found != Found::record) current_.reset();
      if (*found == Found::end) continue;
      bytes += value.size();
      piece.records.push_back(std::move(value));
      value.clear();
    }
    return piece;
  }

  const std::vector<std::string> names_;
  const OpenWork open_;
  const IterationHost::Machine machine_;

  // Touched by whoever reads.
  size_t next_name_ = 0;
  std::unique_ptr<WorkReader> current_;

  mutable Mutex mutex_;
  bool is_reading_ MR_GUARDED_BY(mutex_) = false;
  bool has_piece_ MR_GUARDED_BY(mutex_) = false;
  bool is_closed_ MR_GUARDED_BY(mutex_) = false;
  Piece piece_ MR_GUARDED_BY(mutex_);
  std::shared_ptr<Waker> waiting_ MR_GUARDED_BY(mutex_);
};

class Records final : public DatasetIterator {
 public:
  explicit Records(std::shared_ptr<Reading> reading) : reading_(std::move(reading)) {}
  ~Records() override { reading_->close(); }
  Result<Next> next(Pull& pull, Element* element) override {
    while (records_.empty()) {
      if (!status_.ok()) return std::exchange(status_, {});
      if (is_over_) return Next::end;
      if (!reading_->take(pull, &records_, &status_, &is_over_)) return Next::pending;
    }
    element->clear();
    element->push_back(Tensor::scalar(std::move(records_.front())));
    records_.pop_front();
    return Next::element;
  }

 private:
  const std::shared_ptr<Reading> reading_;
  std::deque<std::string> records_;
  Status status_;  // behind them
  bool is_over_ = false;
};

class FileDataset final : public Dataset {
 public:
  FileDataset(std::vector<std::string> names, OpenWork open)
      : Dataset({{DType::string}, {PartialShape::scalar()}}),
        names_(std::move(names)),
        open_(std::move(open)) {}
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    if (host->machine().files == nullptr)
      return failed_precondition("the device of the iterator has no files");
    return IteratorPtr(
        std::make_unique<Records>(std::make_shared<Reading>(names_, open_, host->machine())));
  }

 private:
  const std::vector<std::string> names_;
  const OpenWork open_;
};

// ---- Their ops
// -----------------------------------------------------------------------------------

Result<DatasetPtr> files_dataset(DatasetInputs& inputs, OpenWork open) {
  const Tensor& names = inputs.context().input(0);
  if (names.shape().rank() > 1) return invalid("`filenames` must be a scalar or a vector.");
  const auto flat = names.flat<std::string>();
  return DatasetPtr(std::make_shared<FileDataset>(
      std::vector<std::string>(flat.begin(), flat.end()), std::move(open)));
}

Result<io::Packing> packing_at(const DatasetInputs& inputs, int slot) {
  MR_ASSIGN(const std::string name, inputs.scalar<std::string>(slot, "compression_type"));
  auto packing = io::packing_of(name);
  if (!packing.ok()) return invalid("Unsupported compression_type: ", name, ".");
  return packing;
}

// How much TensorFlow buffers is its own matter; that it makes sense is checked. Some of its ops
// take -1 for their default.
Status check_buffer_size(const DatasetInputs& inputs, int slot, int64_t least = 0) {
  MR_ASSIGN(const int64_t size, inputs.scalar<int64_t>(slot, "buffer_size"));
  if (size >= least) return {};
  return invalid("`buffer_size` must be >= 0 (0 == default)");
}

Result<DatasetPtr> make_lines(DatasetInputs& inputs) {
  MR_ASSIGN(const io::Packing packing, packing_at(inputs, 1));
  MR_TRY(check_buffer_size(inputs, 2));
  return files_dataset(inputs, lines_of_work(0, packing));
}

Result<DatasetPtr> make_records(DatasetInputs& inputs) {
  MR_ASSIGN(const io::Packing packing, packing_at(inputs, 1));
  MR_TRY(check_buffer_size(inputs, 2, -1));
  if (inputs.context().num_inputs() > 3) {
    for (const int64_t offset : inputs.context().input(3).flat<int64_t>()) {
      if (offset != 0)
        return unimplemented("byte_offsets other than 0: records are read from a file's beginning");
    }
  }
  return files_dataset(inputs, records_of_work(packing));
}

// What a file without packing must be long.
Status check_length(Files& files, const std::string& name, const FixedLengths& lengths) {
  MR_ASSIGN(const FileFacts facts, files.facts(name));
  const int64_t body = static_cast<int64_t>(facts.size) - lengths.header - lengths.footer;
  if (body >= 0 && body % lengths.record == 0) return {};
  return invalid("Excluding the header (", lengths.header, " bytes) and footer (", lengths.footer,
                 " bytes), input file \"", name, "\" has body length ", body,
                 " bytes, which is not an exact multiple of the record length (", lengths.record,
                 " bytes).");
}

Result<DatasetPtr> make_fixed_records(DatasetInputs& inputs) {
  FixedLengths lengths;
  MR_ASSIGN(lengths.header, inputs.scalar<int64_t>(1, "header_bytes"));
  MR_ASSIGN(lengths.record, inputs.scalar<int64_t>(2, "record_bytes"));
  MR_ASSIGN(lengths.footer, inputs.scalar<int64_t>(3, "footer_bytes"));
  if (lengths.header < 0) return invalid("header_bytes must be >= 0");
  if (lengths.record <= 0) return invalid("record_bytes must be > 0");
  if (lengths.footer < 0) return invalid("footer_bytes must be >= 0");
  MR_TRY(check_buffer_size(inputs, 4));
  if (inputs.context().num_inputs() > 5) {
    MR_ASSIGN(lengths.packing, packing_at(inputs, 5));
  }
  OpenWork open = fixed_records_of_work(lengths);
  if (lengths.packing != io::Packing::none) return files_dataset(inputs, std::move(open));
  return files_dataset(
      inputs,
      [lengths, open = std::move(open)](
          Files& files, const std::string& name) -> Result<std::unique_ptr<WorkReader>> {
        MR_TRY(check_length(files, name, lengths));
        return open(files, name);
      });
}

}  // namespace

Status register_dataset_files(OpRegistry& ops) {
  const std::string packed = "filenames: string, compression_type: string, buffer_size: int64";
  const std::string fixed =
      "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, "
      "buffer_size: int64";
  MR_TRY(ops.add(dataset_op("TextLineDataset", "The lines of files, without their ends.", packed,
                            "", make_lines, Kind::source)));
  MR_TRY(ops.add(dataset_op("TFRecordDataset", "The records of TFRecord files.", packed, "",
                            make_records, Kind::source)));
  MR_TRY(ops.add(dataset_op("TFRecordDatasetV2", "The records of TFRecord files.",
                            packed + ", byte_offsets: int64", "", make_records, Kind::source)));
  MR_TRY(ops.add(dataset_op("FixedLengthRecordDataset", "Records of one length out of files.",
                            fixed, "", make_fixed_records, Kind::source)));
  return ops.add(dataset_op(
      "FixedLengthRecordDatasetV2", "Records of one length out of files, which may be packed.",
      fixed + ", compression_type: string", "", make_fixed_records, Kind::source));
}

}  // namespace millrace::data

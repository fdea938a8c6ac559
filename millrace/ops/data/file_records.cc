#include "millrace/ops/data/file_records.h"

#include <deque>
#include <utility>

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
        if (!current_->is_sound()) current_.reset();
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

}  // namespace

Result<IteratorPtr> records_of_files(const IterationHost& host, std::vector<std::string> names,
                                     OpenWork open) {
  if (host.machine().files == nullptr)
    return failed_precondition("the device of the iterator has no files");
  return IteratorPtr(std::make_unique<Records>(
      std::make_shared<Reading>(std::move(names), std::move(open), host.machine())));
}

Result<std::vector<std::string>> filenames_at(DatasetInputs& inputs, int slot) {
  const Tensor& names = inputs.context().input(slot);
  if (names.shape().rank() > 1) return invalid("`filenames` must be a scalar or a vector.");
  const auto flat = names.flat<std::string>();
  return std::vector<std::string>(flat.begin(), flat.end());
}

Result<io::Packing> packing_at(const DatasetInputs& inputs, int slot) {
  MR_ASSIGN(const std::string name, inputs.scalar<std::string>(slot, "compression_type"));
  auto packing = io::packing_of(name);
  if (!packing.ok()) return invalid("Unsupported compression_type: ", name, ".");
  return packing;
}

}  // namespace millrace::data

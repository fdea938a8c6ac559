#include "millrace/ops/data/file_records.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <utility>

namespace millrace::data {
namespace {

// What is read at once: enough that a hand-over costs little.
constexpr size_t kMostRecords = 1024, kMostBytes = 256 << 10;
// What waits to be taken: enough that who reads goes on while who takes is woken, and a bound for
// what is held. Large records: as soon as one of them waits no other is read.
constexpr size_t kMostPieces = 4, kMostBytesAhead = 1 << 20;
// Then others that wait to read have their turn.
constexpr int kPiecesInTurn = 16;

// Reads files in pieces of many records, where blocking is allowed, some pieces ahead of those who
// take them. Shared by the walk and by the reading that is under way, which may end after it.
class Reading final : public std::enable_shared_from_this<Reading> {
 public:
  // The records lie one behind the other: who takes one makes a text of it. Memory that one thread
  // takes and another gives back again and again costs both more than the copy does.
  struct Piece {
    std::string bytes;
    std::vector<size_t> ends;  // of each record in them
    Status status;             // behind the records
    bool is_over = false;
  };

  Reading(std::vector<std::string> names, OpenWork open, IterationHost::Machine machine)
      : names_(std::move(names)), open_(std::move(open)), machine_(machine) {}

  void close() {
    MutexLock lock(mutex_);
    is_closed_ = true;
    waiting_.reset();
    ready_.clear();
  }

  // None if it is on its way: then the waker is told. It may be empty at the end. `spent` is memory
  // of the piece before.
  std::optional<Piece> take(Pull& pull, std::string spent) {
    for (;;) {
      {
        MutexLock lock(mutex_);
        keep(&spent);
        if (!ready_.empty()) {
          Piece piece = std::move(ready_.front());
          ready_.pop_front();
          bytes_ahead_ -= piece.bytes.size();
          if (ready_.size() <= kMostPieces / 2) start();
          return piece;
        }
        start();
        if (machine_.blocking != nullptr) {
          waiting_ = pull.waker;
          return std::nullopt;
        }
      }
      add(next_piece());
    }
  }

 private:
  void start() MR_REQUIRES(mutex_) {
    if (machine_.blocking == nullptr || is_reading_ || !wants_more()) return;
    is_reading_ = true;
    post();
  }
  void post() {
    machine_.blocking->post([self = shared_from_this()] { self->read(); });
  }
  void keep(std::string* spent) MR_REQUIRES(mutex_) {
    const size_t room = spent->capacity();
    if (room > spare_.capacity() && room <= 2 * kMostBytes) std::swap(spare_, *spent);
  }
  bool wants_more() const MR_REQUIRES(mutex_) {
    return !is_over_ && !is_closed_ && ready_.size() < kMostPieces &&
           bytes_ahead_ < kMostBytesAhead;
  }

  void read() {
    for (int pieces = 0; pieces < kPiecesInTurn; ++pieces) {
      if (!add(next_piece())) return;
    }
    post();
  }

  // False, and nobody reads any more, if that is enough for now.
  bool add(Piece piece) {
    std::shared_ptr<Waker> waiting;
    bool is_enough = false;
    {
      MutexLock lock(mutex_);
      is_over_ = piece.is_over;
      bytes_ahead_ += piece.bytes.size();
      ready_.push_back(std::move(piece));
      is_enough = !wants_more();
      if (is_enough) is_reading_ = false;
      waiting = std::move(waiting_);
    }
    if (waiting != nullptr) waiting->wake();
    return !is_enough;
  }

  void put(Piece* piece) {
    // One that fills a piece alone is not copied, and its memory not kept.
    if (piece->ends.empty() && record_.size() >= kMostBytes) {
      piece->bytes = std::exchange(record_, {});
    } else {
      piece->bytes += record_;
      if (record_.capacity() > kMostBytes) record_ = {};
    }
    piece->ends.push_back(piece->bytes.size());
  }

  Piece empty_piece() {
    Piece piece;
    MutexLock lock(mutex_);
    std::swap(piece.bytes, spare_);
    piece.bytes.clear();
    return piece;
  }

  Piece next_piece() {
    Piece piece = empty_piece();
    while (piece.ends.size() < kMostRecords && piece.bytes.size() < kMostBytes && !is_closed_) {
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
      Result<Found> found = current_->next(nullptr, &record_);
      if (!found.ok()) {
        if (!current_->is_sound()) current_.reset();
        piece.status = std::move(found).status();
        break;
      }
      if (*found != Found::record) current_.reset();
      if (*found == Found::end) continue;
      put(&piece);
    }
    return piece;
  }

  const std::vector<std::string> names_;
  const OpenWork open_;
  const IterationHost::Machine machine_;

  // Touched by whoever reads.
  size_t next_name_ = 0;
  std::unique_ptr<WorkReader> current_;
  std::string record_;

  std::atomic<bool> is_closed_ = false;
  Mutex mutex_;
  bool is_reading_ MR_GUARDED_BY(mutex_) = false;
  bool is_over_ MR_GUARDED_BY(mutex_) = false;  // the last piece was read
  std::deque<Piece> ready_ MR_GUARDED_BY(mutex_);
  std::string spare_ MR_GUARDED_BY(mutex_);       // memory for the next one
  size_t bytes_ahead_ MR_GUARDED_BY(mutex_) = 0;  // in them
  std::shared_ptr<Waker> waiting_ MR_GUARDED_BY(mutex_);
};

class Records final : public DatasetIterator {
 public:
  explicit Records(std::shared_ptr<Reading> reading) : reading_(std::move(reading)) {}
  ~Records() override { reading_->close(); }
  Result<Next> next(Pull& pull, Element* element) override {
    while (next_ == piece_.ends.size()) {
      if (!piece_.status.ok()) return std::exchange(piece_.status, {});
      if (piece_.is_over) return Next::end;
      std::optional<Reading::Piece> following = reading_->take(pull, std::move(piece_.bytes));
      if (!following) return Next::pending;
      piece_ = *std::move(following);
      next_ = 0;
    }
    element->clear();
    element->push_back(Tensor::scalar(take_record()));
    return Next::element;
  }

 private:
  std::string take_record() {
    const size_t begin = next_ == 0 ? 0 : piece_.ends[next_ - 1];
    const size_t end = piece_.ends[next_++];
    if (end >= kMostBytes && piece_.ends.size() == 1) return std::move(piece_.bytes);
    return piece_.bytes.substr(begin, end - begin);
  }

  const std::shared_ptr<Reading> reading_;
  Reading::Piece piece_;
  size_t next_ = 0;  // of its records
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

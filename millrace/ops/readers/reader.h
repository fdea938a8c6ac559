// Reader: a reader of files on a device, shared by every graph that names it.
//
// It works at one piece of work at a time, which it is given (reading.h takes it from a queue), and
// counts. Who reads, resets, saves or restores it does so in turn; a turn is waited for without a
// thread, and ends with its ReaderTurn. What is counted anybody may ask at any time. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/op/resource.h"
#include "millrace/ops/readers/work_reader.h"
#include "millrace/ops/state/awaited.h"

namespace millrace {

struct ReaderSpec {
  std::string op;        // "TextLineReader"
  std::string settings;  // what two handles of one reader must agree on, for people
  OpenWork open;
  bool has_state = false;  // whether its counts and its work say all that it is
};

struct ReaderCounts {
  int64_t started = 0, finished = 0, produced = 0;
};

struct ReadRecords {
  std::vector<std::string> keys, values;
};

class Reader final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "reader";

  Reader(ReaderSpec spec, std::string name) : spec_(std::move(spec)), name_(std::move(name)) {}

  // Errors: INVALID_ARGUMENT saying how `other` differs.
  Status check_same(const ReaderSpec& other) const;

  // Answers OK once it is the caller's turn, who then owes a ReaderTurn.
  void wait_for_turn(Cancellation* cancellation, Done<void> done);

  // The next six are for whose turn it is.
  bool has_work() const { return next_work_.has_value() || current_ != nullptr; }
  void give_work(std::string work) { next_work_ = std::move(work); }
  // When there is no work to be given: the last one is then forgotten.
  void forget_work() { work_.clear(); }
  // Up to `wanted` records of the work, which it opens first if it has not begun. None of them: the
  // work is done. Looks at `is_abandoned` after each.
  Result<ReadRecords> read(Files& files, size_t wanted, const std::atomic<bool>& is_abandoned);
  void reset();
  // Errors: UNIMPLEMENTED unless has_state; INVALID_ARGUMENT for what no reader saved. A reader
  // that can't be restored begins anew.
  Result<std::string> saved() const;
  Status restore(const std::string& state);

  ReaderCounts counts() const;

  std::string description() const override;
  void close(const Status& why) override { seat_.close(why); }

 private:
  friend class ReaderTurn;
  struct Seat {
    bool is_taken = false;
  };

  Status open_next(Files& files);
  Status try_restore(const std::string& state);
  void finish_work();

  const ReaderSpec spec_;
  const std::string name_;
  Awaited<Seat> seat_{Turns::in_order};

  // Touched only by whose turn it is.
  std::optional<std::string> next_work_;  // given and not begun
  std::string work_;                      // the one that was begun last
  std::unique_ptr<WorkReader> current_;

  mutable Mutex mutex_;
  ReaderCounts counts_ MR_GUARDED_BY(mutex_);
};

// A turn at a reader, which it keeps alive. Going out of scope gives the turn to who waits next.
class ReaderTurn {
 public:
  explicit ReaderTurn(std::shared_ptr<Reader> reader) : reader_(std::move(reader)) {}
  ~ReaderTurn();
  ReaderTurn(const ReaderTurn&) = delete;
  ReaderTurn& operator=(const ReaderTurn&) = delete;

 private:
  const std::shared_ptr<Reader> reader_;
};

}  // namespace millrace

// A journaled state of a test's own: numbers that were written down, in order. One that is lost
// leaves a gap, and one that is applied twice stands there twice.
#pragma once

#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/testing/held_tasks.h"
#include "millrace/io/journal.h"

namespace millrace::testing {

class Ledger final : public io::Journaled {
 public:
  void write(int number) { numbers_.push_back(number); }
  const std::vector<int>& numbers() const { return numbers_; }

  Status put_all(io::RecordSink sink) override {
    kept_ = 0;
    return put_changes(sink);
  }
  Status put_changes(io::RecordSink sink) override {
    while (kept_ < numbers_.size()) MR_TRY(sink(std::to_string(numbers_[kept_++])));
    return {};
  }
  Status replay(std::string_view record) {
    int number = 0;
    const auto [at, problem] =
        std::from_chars(record.data(), record.data() + record.size(), number);
    if (problem != std::errc() || at != record.data() + record.size())
      return error(Code::data_loss, "'", record, "' is no number");
    numbers_.push_back(number);
    return {};
  }

 private:
  std::vector<int> numbers_;
  size_t kept_ = 0;  // how many are on the disk, or were given to a sink
};

// One life of a process that keeps a ledger: opened, written to, gone. `files` outlives it.
class LedgerLife {
 public:
  explicit LedgerLife(LastingFiles& files, uint64_t spare_bytes = 16 << 20)
      : machine_{files, random_, tasks_, tasks_}, spare_bytes_(spare_bytes) {}

  Status start() {
    MR_ASSIGN(journal_, io::Journal::open(
                            machine_, {.folder = "state", .spare_bytes = spare_bytes_}, ledger_,
                            [this](std::string_view record) { return ledger_.replay(record); }));
    return {};
  }
  // Writes a number down; tells in `acknowledged()` when it is kept.
  void write(int number) {
    ledger_.write(number);
    journal_->commit(Done<void>([this, number](Status status) {
      (status.ok() ? acknowledged_ : refused_).push_back(number);
      if (!status.ok()) last_refusal_ = std::move(status);
    }));
  }
  // What waits for the disk is done.
  void turn() { tasks_.run(); }
  Status close() { return journal_->close(cancelled("the test is over")); }

  const std::vector<int>& numbers() const { return ledger_.numbers(); }
  const std::vector<int>& acknowledged() const { return acknowledged_; }
  const std::vector<int>& refused() const { return refused_; }
  const Status& last_refusal() const { return last_refusal_; }
  io::Journal& journal() { return *journal_; }

 private:
  SeededRandom random_{5};
  HeldTasks tasks_;
  const io::JournalMachine machine_;
  const uint64_t spare_bytes_;
  Ledger ledger_;
  std::vector<int> acknowledged_, refused_;
  Status last_refusal_;
  std::unique_ptr<io::Journal> journal_;
};

}  // namespace millrace::testing

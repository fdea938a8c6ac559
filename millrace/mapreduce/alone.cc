#include "millrace/mapreduce/alone.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/base/start_thread.h"
#include "millrace/mapreduce/attempt.h"
#include "millrace/mapreduce/ending.h"
#include "millrace/mapreduce/ledger.h"
#include "millrace/mapreduce/progress.h"
#include "millrace/mapreduce/work.h"
#include "millrace/mapreduce/workshop.h"

namespace millrace::mapreduce {

namespace {

class AloneRun {
 public:
  AloneRun(const Job& job, const Host& host, int threads, const std::string& spill,
           BesideQueue* queue)
      : job_(job),
        queue_(queue),
        host_(host),
        threads_(threads),
        site_{host.files, host.clock, spill, job.memory / static_cast<size_t>(threads)},
        workshop_(host.files, job.output.folder(), token_of(host.random.next())),
        ledger_(job.max_bad),
        progress_(ledger_, job.say, job.pause, host.clock),
        rejected_(ledger_) {}

  Result<Made> run() {
    // First: it is closed whatever comes, and who reads waits for nothing.
    if (queue_ != nullptr) MR_TRY(queue_->begin(workshop_));
    MR_TRY(workshop_.make());
    begin_map();
    MR_TRY(all_threads(PieceKind::map));
    MR_TRY(begin_reduce());
    MR_TRY(all_threads(PieceKind::reduce));
    MutexLock lock(mutex_);
    MR_ASSIGN(Made made, gathered(job_, ledger_, workshop_, rejected_));
    if (queue_ != nullptr) {
      MR_TRY(workshop_.note_publishing());
      MR_TRY(queue_->fill(host_.files, ledger_.parts()));
    }
    MR_TRY(workshop_.publish());
    return made;
  }

 private:
  void begin_map() {
    MutexLock lock(mutex_);
    splits_ = job_.input->splits(host_.files, workshop_.path(), rejected_);
  }
  Status begin_reduce() {
    MutexLock lock(mutex_);
    MR_ASSIGN(plan_, workshop_.write("plan.json", ledger_.plan()));
    ledger_.reduce_begins(partitions());
    progress_.begin_phase();
    return {};
  }
  int partitions() const { return std::max(job_.partitions, 1); }

  // Has all threads make pieces of a kind, until there are no more or the job has failed.
  Status all_threads(PieceKind kind) {
    std::vector<std::thread> started;
    Status refused;
    for (int i = 0; i < threads_ && refused.ok(); ++i) {
      Result<std::thread> thread = start_thread("mapreduce", [this, kind] { work(kind); });
      if (thread.ok())
        started.push_back(*std::move(thread));
      else
        refused = thread.status();
    }
    for (std::thread& each : started) each.join();
    // Those that there are have done all of it.
    if (started.empty()) return refused;
    MutexLock lock(mutex_);
    return ledger_.failure();
  }

  void work(PieceKind kind) {
    for (;;) {
      std::optional<Piece> piece;
      {
        MutexLock lock(mutex_);
        if (ledger_.failure().ok())
          piece = kind == PieceKind::map ? next_split() : next_partition();
      }
      if (!piece) return;
      Report report = attempted(job_, *piece, site_, token_of(host_.random.next()));
      if (piece->split.is_own) static_cast<void>(host_.files.remove(piece->split.path));
      MutexLock lock(mutex_);
      ledger_.add_report(std::move(report));
      if (ledger_.failure().ok()) progress_.tell();
    }
  }

  std::optional<Piece> next_split() MR_REQUIRES(mutex_) {
    if (ledger_.all_found()) return std::nullopt;
    Result<std::optional<Split>> split = splits_->next();
    if (!split.ok()) ledger_.fail(split.status());
    if (split.ok() && !*split) ledger_.all_are_found();
    if (!ledger_.failure().ok() || ledger_.all_found()) return std::nullopt;
    const int64_t number = ledger_.add_split((*split)->weight);
    return Piece{.number = number,
                 .split = **std::move(split),
                 .partitions = partitions(),
                 .work = workshop_.path()};
  }

  std::optional<Piece> next_partition() MR_REQUIRES(mutex_) {
    if (next_partition_ == partitions()) return std::nullopt;
    return Piece{.kind = PieceKind::reduce,
                 .number = next_partition_++,
                 .plan = plan_,
                 .work = workshop_.path()};
  }

  const Job& job_;
  BesideQueue* const queue_;
  const Host& host_;
  const int threads_;
  const Site site_;
  Mutex mutex_;
  Workshop workshop_;
  Ledger ledger_ MR_GUARDED_BY(mutex_);
  Progress progress_ MR_GUARDED_BY(mutex_);
  Rejected rejected_ MR_GUARDED_BY(mutex_);
  std::unique_ptr<Splits> splits_ MR_GUARDED_BY(mutex_);
  std::string plan_ MR_GUARDED_BY(mutex_);
  int next_partition_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Result<Made> run_alone(const Job& job, const Host& host, int threads, const std::string& spill,
                       BesideQueue* queue) {
  AloneRun run(job, host, threads, spill, queue);
  return run.run();
}

}  // namespace millrace::mapreduce

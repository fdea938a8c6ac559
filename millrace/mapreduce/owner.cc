#include "millrace/mapreduce/owner.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "millrace/base/host.h"
#include "millrace/base/start_thread.h"
#include "millrace/mapreduce/attempt.h"
#include "millrace/mapreduce/backups.h"
#include "millrace/mapreduce/ending.h"
#include "millrace/mapreduce/events.h"
#include "millrace/mapreduce/ledger.h"
#include "millrace/mapreduce/progress.h"
#include "millrace/mapreduce/roles.h"
#include "millrace/mapreduce/shared_queues.h"
#include "millrace/mapreduce/workshop.h"

namespace millrace::mapreduce {

namespace {

constexpr int64_t kAhead = 64;  // splits that may wait to be taken, besides those being mapped
constexpr std::chrono::milliseconds kGlance{500};     // between looks at what was given up
constexpr std::chrono::milliseconds kFarewell{5000};  // for the last of the workers to hear the end

bool is_end(const Status& status) {
  return status.code() == Code::out_of_range || status.code() == Code::cancelled;
}

// Two threads do what waits, one puts splits into their queue, the other takes reports; the
// caller's decides. All fields without another word are touched by that one alone.
class OwnerRun {
 public:
  OwnerRun(const Job& job, const Host& host, const ClusterSpec& cluster, SharedQueues& queues)
      : job_(job),
        host_(host),
        cluster_(cluster),
        queues_(queues),
        parts_(job.partitions != 0 ? job.partitions : num_takers(cluster, PieceKind::reduce)),
        room_(kAhead + num_takers(cluster, PieceKind::map)),
        workshop_(host.files, job.output.folder(), token_of(host.random.next())),
        ledger_(job.max_bad),
        progress_(ledger_, job.say, job.pause, host.clock),
        rejected_(ledger_),
        backups_(job.backups) {}

  // `results` are of the queue into which they go; null: they are files.
  Result<Made> run(SharedQueues* results) {
    results_ = results;
    Result<Made> made = make();
    queues_.cancel_all();
    room_.close();
    for (std::thread& each : threads_) each.join();
    // Who reads waits for nothing any more.
    if (has_results_open_) results_->cancel_results();
    return made;
  }

 private:
  Result<Made> make() {
    // First: it is closed whatever comes, and who reads waits for nothing.
    MR_TRY(begin_results());
    MR_TRY(workshop_.make());
    for (const std::string& left : workshop_.others())
      say(str_cat(left, " is of a job that was killed or still runs"));
    MR_TRY(start([this] { feed(); }));
    MR_TRY(start([this] { receive(); }));
    MR_TRY(follow_until([this] { return ledger_.is_mapped(); }, PieceKind::map));
    MR_TRY(end_phase(PieceKind::map));
    MR_TRY(begin_reduce());
    MR_TRY(follow_until([this] { return ledger_.is_reduced(); }, PieceKind::reduce));
    MR_TRY(end_phase(PieceKind::reduce));
    MR_ASSIGN(Made made, gathered(job_, ledger_, workshop_, rejected_));
    MR_TRY(fill_queue());
    MR_TRY(workshop_.publish());
    workshop_.remove();  // before the wait, in which a launcher may end this task
    part();
    return made;
  }

  Status start(std::function<void()> body) {
    MR_ASSIGN(std::thread thread, start_thread("mapreduce", std::move(body)));
    threads_.push_back(std::move(thread));
    return {};
  }
  void say(const std::string& line) {
    if (job_.say) job_.say(line);
  }

  // ---- Threads that wait ----

  // Files that can't be looked at, told to the thread that decides.
  class Posted final : public Reading {
   public:
    explicit Posted(OwnerRun& run) : run_(run) {}
    Status take(const Place& place, std::string_view) override {
      return internal("a record while the input is divided: ", place.to_string());
    }
    Status reject(const Place& place, std::optional<std::string_view>, const Status& why) override {
      run_.events_.post([&run = run_, path = std::string(place.path), at = place.position, why] {
        static_cast<void>(run.rejected_.reject({path, at}, std::nullopt, why));
      });
      return {};
    }

   private:
    OwnerRun& run_;
  };

  // Puts all splits into the queue; waits while mappers are behind.
  void feed() {
    const Status fed = put_splits();
    if (fed.ok()) return;
    if (is_end(fed)) {
      // If the job has ended before, nobody hears of this.
      events_.post([this] {
        ledger_.fail(failed_precondition("a job of the name '", job_.name,
                                         "' has ended here before: give each of a program a `name` "
                                         "of its own"));
      });
      return;
    }
    events_.post([this, fed] { ledger_.fail(fed.with("splits can't be handed out")); });
  }
  Status put_splits() {
    Posted posted(*this);
    const auto splits = job_.input->splits(host_.files, workshop_.path(), posted);
    for (int64_t number = 0;; ++number) {
      Result<std::optional<Split>> split = splits->next();
      if (!split.ok()) {
        events_.post([this, why = split.status()] { ledger_.fail(why); });
        return {};
      }
      if (!*split) break;
      Piece piece{.number = number,
                  .split = **std::move(split),
                  .partitions = parts_,
                  .work = workshop_.path()};
      if (!room_.take()) return {};
      const std::string text = encode(piece);
      events_.post([this, piece = std::move(piece)]() mutable {
        ledger_.add_split(piece.split.weight);
        const int64_t which = piece.number;
        outstanding_.emplace(which, std::move(piece));
      });
      MR_TRY(queues_.put(PieceKind::map, text));
    }
    events_.post([this] { ledger_.all_are_found(); });
    return {};
  }

  void receive() {
    for (;;) {
      Result<std::string> text = queues_.next_report();
      if (is_end(text.status())) return;  // the job has ended
      if (!text.ok()) {
        events_.post(
            [this, why = text.status()] { ledger_.fail(why.with("reports don't come any more")); });
        return;
      }
      events_.post([this, text = *std::move(text)] { on_report(text); });
    }
  }

  // ---- The thread that decides ----

  void on_report(const std::string& text) {
    Result<Report> report = decode_report(text);
    if (!report.ok()) return ledger_.fail(report.status());
    if (!report->bye.empty()) {
      farewells_.insert(report->bye);
      return;
    }
    const int64_t number = report->number;
    const bool is_failed = !report->failure.ok();
    const std::chrono::duration<double> took(report->seconds);
    if (!ledger_.add_report(*std::move(report)) || is_failed) return;
    backups_.note(std::chrono::duration_cast<Clock::Duration>(took));
    const auto done = outstanding_.extract(number);
    if (done && done.mapped().split.is_own)
      static_cast<void>(host_.files.remove(done.mapped().split.path));
    room_.give();
  }

  Status follow_until(const std::function<bool()>& is_done, PieceKind kind) {
    Clock::Time look = host_.clock.now() + kGlance;
    while (!is_done()) {
      if (auto event = events_.next(look)) (*event)();
      MR_TRY(ledger_.failure());
      if (host_.clock.now() >= look) {
        MR_TRY(look_at_dead_letters());
        MR_TRY(back_up(kind));
        look = host_.clock.now() + kGlance;
      }
      progress_.tell();
    }
    return {};
  }

  Status look_at_dead_letters() {
    for (const PieceKind kind : kPieceKinds) {
      MR_ASSIGN(const std::optional<std::string> text, queues_.dead(kind));
      if (!text) continue;
      MR_ASSIGN(const Piece piece, decode_piece(*text));
      if (piece.is_over || ledger_.is_done(piece)) continue;
      ledger_.fail(error(Code::aborted, piece.name(), " was given up after ", job_.attempts,
                         " attempts: each time the task that had it died, or was silent for longer "
                         "than the lease"));
    }
    return ledger_.failure();
  }

  // Has what takes long done by another as well; whoever reports first counts.
  Status back_up(PieceKind kind) {
    // Whoever reads may take his time; nobody puts results in faster than that.
    if (kind == PieceKind::publish) return {};
    if (kind == PieceKind::map && !ledger_.all_found()) return {};
    MR_ASSIGN(const int64_t num_waiting, queues_.num_waiting(kind));
    std::vector<int64_t> outstanding;
    for (const auto& [number, _] : outstanding_) outstanding.push_back(number);
    for (const int64_t number : backups_.due(num_waiting, outstanding, host_.clock.now())) {
      const Piece& piece = outstanding_.at(number);
      say(str_cat(piece.name(), " takes long: another task does it as well"));
      MR_TRY(queues_.put(kind, encode(piece)));
    }
    return {};
  }

  // Tells workers that there is no more of a kind, though somebody may still be at a piece that is
  // done.
  Status end_phase(PieceKind kind) {
    for (int i = 0; i < num_takers(cluster_, kind); ++i)
      MR_TRY(queues_.put(kind, encode(Piece{.is_over = true})));
    MR_TRY(queues_.close(kind));
    outstanding_.clear();
    backups_ = Backups(job_.backups);
    return {};
  }

  Status begin_reduce() {
    MR_ASSIGN(const std::string plan, workshop_.write("plan.json", ledger_.plan()));
    ledger_.reduce_begins(parts_);
    progress_.begin_phase();
    for (int64_t number = 0; number < parts_; ++number) {
      Piece piece{
          .kind = PieceKind::reduce, .number = number, .plan = plan, .work = workshop_.path()};
      const std::string text = encode(piece);
      outstanding_.emplace(number, std::move(piece));
      MR_TRY(queues_.put(PieceKind::reduce, text));
    }
    return {};
  }

  // Has the queue of results for this job, if they go into one.
  Status begin_results() {
    if (results_ == nullptr) return {};
    MR_TRY(workshop_.check_nothing_was_put());
    MR_TRY(results_->check_results());
    has_results_open_ = true;
    return {};
  }

  // Has the results put into their queue, and closes it.
  Status fill_queue() {
    if (results_ == nullptr) return {};
    MR_TRY(workshop_.note_publishing());
    ledger_.publish_begins();
    progress_.begin_phase();
    const std::vector<std::string> parts = ledger_.parts();
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto number = static_cast<int64_t>(i);
      Piece piece{.kind = PieceKind::publish, .number = number, .split = {.path = parts[i]}};
      const std::string text = encode(piece);
      outstanding_.emplace(number, std::move(piece));
      MR_TRY(queues_.put(PieceKind::publish, text));
    }
    MR_TRY(follow_until([this] { return ledger_.is_published(); }, PieceKind::publish));
    MR_TRY(end_phase(PieceKind::publish));
    MR_TRY(results_->close_results());
    has_results_open_ = false;
    return {};
  }

  // Lets workers hear that there is no more to do; those that died are not waited for long.
  void part() {
    const std::set<std::string> workers = workers_of(cluster_);
    const Clock::Time end = host_.clock.now() + kFarewell;
    const auto have_all_heard = [&] {
      return std::includes(farewells_.begin(), farewells_.end(), workers.begin(), workers.end());
    };
    while (!have_all_heard()) {
      auto event = events_.next(end);
      if (!event) return;
      (*event)();
    }
  }

  const Job& job_;
  const Host& host_;
  const ClusterSpec& cluster_;
  SharedQueues& queues_;
  const int parts_;
  Events events_;  // has its own synchronisation, and so has room_
  Room room_;
  Workshop workshop_;  // also read by the thread that feeds: its path
  Ledger ledger_;
  Progress progress_;
  Rejected rejected_;
  Backups backups_;
  std::map<int64_t, Piece> outstanding_;  // of the phase that it is in
  std::set<std::string> farewells_;
  SharedQueues* results_ = nullptr;
  bool has_results_open_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

Result<Made> own_on_cluster(const Job& job, Server& server, const ClusterSpec& cluster) {
  MR_ASSIGN(const auto queues, SharedQueues::create(server, job));
  std::unique_ptr<SharedQueues> results;
  if (job.output.queue()) {
    MR_ASSIGN(results, SharedQueues::create(server, job, SharedQueues::Reach::results));
  }
  OwnerRun run(job, server.runtime()->host(), cluster, *queues);
  return run.run(results.get());
}

}  // namespace millrace::mapreduce

#include "millrace/mapreduce/worker.h"

#include <chrono>
#include <memory>
#include <utility>

#include "millrace/base/host.h"
#include "millrace/mapreduce/heartbeat.h"
#include "millrace/mapreduce/roles.h"
#include "millrace/mapreduce/shared_queues.h"
#include "millrace/mapreduce/work.h"
#include "millrace/mapreduce/workshop.h"

namespace millrace::mapreduce {

namespace {

// Puts what a reducer has written into the queue of results; the report, with why if it can't be.
// Errors: FAILED_PRECONDITION for a loan that was lost.
Result<Report> put_partition(const Piece& piece, SharedQueues& queues, SharedQueues::Loan& loan,
                             const Host& host) {
  const Clock::Time began = host.clock.now();
  Report report{.kind = piece.kind, .number = piece.number, .file = piece.split.path};
  Status put = queues.put_results(loan, host.files, piece.split.path);
  if (put.code() == Code::failed_precondition) return put;
  if (!put.ok()) report.failure = put.with(piece.name());
  report.seconds = std::chrono::duration<double>(host.clock.now() - began).count();
  return report;
}

// Makes a piece, and says so. Errors: FAILED_PRECONDITION for a loan that was lost; CANCELLED if
// the job is over.
Status make_piece(const Job& job, const Piece& piece, SharedQueues& queues,
                  SharedQueues::Loan& loan, const Site& site, const Host& host) {
  const Heartbeat heartbeat(queues, loan, job.lease, host.clock);
  Report report;
  if (piece.kind == PieceKind::publish) {
    MR_ASSIGN(report, put_partition(piece, queues, loan, host));
  } else {
    // Of this attempt alone: who was stopped and wakes up may not write into another's file.
    report = attempted(job, piece, site, token_of(host.random.next()));
  }
  MR_TRY(queues.report(loan, encode(report)));
  return queues.acknowledge(loan);
}

enum class Taken : uint8_t { one, none };

Result<Taken> take_one(const Job& job, PieceKind kind, SharedQueues& queues, const Site& site,
                       const Host& host) {
  Result<SharedQueues::Loan> loan = queues.take(kind);
  const Code code = loan.status().code();
  if (code == Code::out_of_range || code == Code::cancelled) return Taken::none;
  MR_TRY(loan);
  MR_ASSIGN(const Piece piece, decode_piece(loan->text));
  if (piece.is_over) {
    MR_TRY(queues.acknowledge(*loan));
    return Taken::none;
  }
  const Status made = make_piece(job, piece, queues, *loan, site, host);
  if (made.code() == Code::failed_precondition) {
    if (job.say) job.say(str_cat(made.message(), "; going on with the next"));
    return Taken::one;
  }
  // The job is over: another has done it.
  if (made.code() == Code::cancelled) return Taken::one;
  MR_TRY(made.with(piece.name()));
  return Taken::one;
}

Status take_all(const Job& job, PieceKind kind, SharedQueues& queues, const Site& site,
                const Host& host) {
  for (Taken taken = Taken::one; taken == Taken::one;) {
    MR_ASSIGN(taken, take_one(job, kind, queues, site, host));
  }
  return {};
}

// Puts results into their queue, if they go into one.
Status publish(const Job& job, SharedQueues& queues, Server& server, const Site& site) {
  if (!job.output.queue()) return {};
  const Result<bool> is_over = queues.is_closed(PieceKind::publish);
  MR_TRY(is_over);
  // Of a job that has failed the queue, and who has it, may be gone.
  if (*is_over) return {};
  const Status put = [&]() -> Status {
    MR_ASSIGN(const auto far, SharedQueues::create(server, job, SharedQueues::Reach::results));
    return take_all(job, PieceKind::publish, *far, site, server.runtime()->host());
  }();
  if (put.ok()) return {};
  // Others were quicker, and who reads has read all and ended: the owner closes the queue of this
  // work before that of the results.
  const Result<bool> is_done = queues.is_closed(PieceKind::publish);
  return is_done.ok() && *is_done ? Status() : put;
}

}  // namespace

Status work_on_cluster(const Job& job, Server& server, const std::string& spill) {
  const Host& host = server.runtime()->host();
  const Site site{host.files, host.clock, spill, job.memory};
  MR_ASSIGN(const auto queues, SharedQueues::create(server, job));
  for (const PieceKind kind : kinds_taken(server.task().job)) {
    if (kind == PieceKind::publish)
      MR_TRY(publish(job, *queues, server, site));
    else
      MR_TRY(take_all(job, kind, *queues, site, host));
  }
  const Status said =
      queues->say(encode(Report{.bye = str_cat(server.task().job, ":", server.task().task)}));
  // A job that is over hears of nobody any more.
  return said.code() == Code::cancelled ? Status() : said;
}

}  // namespace millrace::mapreduce

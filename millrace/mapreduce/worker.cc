#include "millrace/mapreduce/worker.h"

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

// Makes a piece, and says so. Errors: FAILED_PRECONDITION for a loan that was lost; CANCELLED if
// the job is over.
Status make_piece(const Job& job, const Piece& piece, SharedQueues& queues,
                  SharedQueues::Loan& loan, const Site& site, const Host& host) {
  const Heartbeat heartbeat(queues, loan, job.lease, host.clock);
  // Of this attempt alone: who was stopped and wakes up may not write into another's file.
  const Report report = attempted(job, piece, site, token_of(host.random.next()));
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

}  // namespace

Status work_on_cluster(const Job& job, Server& server, const std::string& spill) {
  const Host& host = server.runtime()->host();
  const Site site{host.files, host.clock, spill, job.memory};
  MR_ASSIGN(const auto queues, SharedQueues::create(server, job));
  for (const PieceKind kind : kinds_taken(server.task().job)) {
    for (Taken taken = Taken::one; taken == Taken::one;) {
      MR_ASSIGN(taken, take_one(job, kind, *queues, site, host));
    }
  }
  const Status said =
      queues->say(encode(Report{.bye = str_cat(server.task().job, ":", server.task().task)}));
  // A job that is over hears of nobody any more.
  return said.code() == Code::cancelled ? Status() : said;
}

}  // namespace millrace::mapreduce

// SharedQueues: the queues of a job, as every task of it builds them; all are on the owner. Over
// them go pieces and reports as text (piece.h).
//
// A worker takes a piece under a lease, and reports under the same one: so of several attempts at a
// piece one report is in the queue, whoever died, stopped or came back. Thread-safe; calls wait for
// the owner, and end with its connection or with the queue.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "millrace/mapreduce/job.h"
#include "millrace/mapreduce/piece.h"
#include "millrace/master/once_book.h"
#include "millrace/session/session.h"

namespace millrace::mapreduce {

class SharedQueues {
 public:
  // A session that needs the owner alone. Errors of all: those of sessions.
  static Result<std::unique_ptr<SharedQueues>> create(Server& server, const Job& job);

  // A piece that is lent to this task.
  struct Loan {
    PieceKind kind = PieceKind::map;
    std::string text;   // of the piece
    std::string lease;  // bytes
    int attempt = 0;
    OnceBook steps = {};  // numbers those that are made under it
  };

  // ---- Workers ----
  // Errors: OUT_OF_RANGE or CANCELLED if there is no more work of the kind.
  Result<Loan> take(PieceKind kind);
  // Lets a loan last on; false if it is lost already.
  Result<bool> extend(const Loan& loan);
  // Puts a report into the queue, once for the piece, whoever reports it. Errors:
  // FAILED_PRECONDITION if the loan is lost; CANCELLED if the job is over.
  Status report(Loan& loan, const std::string& text);
  Status acknowledge(const Loan& loan);
  // Puts a report that is under no loan.
  Status say(const std::string& text);

  // ---- The owner ----
  Status put(PieceKind kind, const std::string& text);
  Result<std::string> next_report();
  // How many pieces wait to be taken.
  Result<int64_t> num_waiting(PieceKind kind);
  // A piece that was given up, if there is one.
  Result<std::optional<std::string>> dead(PieceKind kind);
  // Nothing more comes; what is there can be taken.
  Status close(PieceKind kind);
  // Ends all calls under way, on all queues. Errors don't matter then: there are none.
  void cancel_all();

 private:
  struct Work {
    std::string put, take, lease, attempt, extend, end, close, cancel, num_dead, dead, size;
  };
  struct Nodes {
    std::string text, lease, under, report, next_report, close_reports;
    Work work[2];
  };

  SharedQueues(std::unique_ptr<Session> session, Nodes nodes);
  static Result<Nodes> build(GraphBuilder& graph, const Job& job);
  const Work& work_of(PieceKind kind) const { return nodes_.work[static_cast<int>(kind)]; }
  Status run(const std::string& target, Session::Feeds feeds = {});

  const std::unique_ptr<Session> session_;
  const Nodes nodes_;
};

}  // namespace millrace::mapreduce

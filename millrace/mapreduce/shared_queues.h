// SharedQueues: the queues of a job, as every task of it builds them; all are on the owner. Over
// them go pieces and reports as text (piece.h).
//
// A worker takes a piece under a lease, and reports under the same one: so of several attempts at a
// piece one report is in the queue, whoever died, stopped or came back. Thread-safe; calls wait for
// the owner, and end with its connection or with the queue.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "millrace/mapreduce/filling.h"
#include "millrace/mapreduce/job.h"
#include "millrace/mapreduce/piece.h"
#include "millrace/master/once_book.h"
#include "millrace/session/session.h"

namespace millrace::mapreduce {

class SharedQueues {
 public:
  // Whom the session needs: the owner alone, or also the task that has the queue of results, if the
  // job has one. Errors of all: those of sessions.
  enum class Reach : uint8_t { owner, results };
  static Result<std::unique_ptr<SharedQueues>> create(Server& server, const Job& job,
                                                      Reach reach = Reach::owner);

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
  // Whether no more work of the kind comes.
  Result<bool> is_closed(PieceKind kind);
  // Puts what a reducer has written into the queue of results, each element once for the loan's
  // piece. Needs Reach::results, as do the next three. Errors: FAILED_PRECONDITION if the loan is
  // lost; those of Filling::put_file().
  Status put_results(Loan& loan, Files& files, const std::string& path);
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
  // As in Filling.
  Status check_results();
  Status close_results();
  void cancel_results();
  // Ends all calls under way, on all queues. Errors don't matter then: there are none.
  void cancel_all();

 private:
  struct Work {
    std::string put, take, lease, attempt, extend, end, close, cancel, is_closed, num_dead, dead,
        size;
  };
  struct Nodes {
    std::string text, lease, under, report, next_report, close_reports;
    std::array<Work, kPieceKinds.size()> work;
  };

  SharedQueues(std::unique_ptr<Session> session, Nodes nodes, std::optional<Filling> filling);
  static Result<Nodes> build(GraphBuilder& graph, const Job& job);
  const Work& work_of(PieceKind kind) const { return nodes_.work[static_cast<size_t>(kind)]; }
  // Makes a step that updates, under a loan.
  Status update(Loan& loan, const std::string& target, Session::Feeds feeds);
  Status run(const std::string& target, Session::Feeds feeds = {});

  const std::unique_ptr<Session> session_;
  const Nodes nodes_;
  const std::optional<Filling> filling_;  // of Reach::results
};

}  // namespace millrace::mapreduce

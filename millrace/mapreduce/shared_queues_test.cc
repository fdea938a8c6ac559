// Pieces under leases, over real queues: of several attempts at a piece one report counts.
#include "millrace/mapreduce/shared_queues.h"

#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/mapreduce/heartbeat.h"
#include "millrace/session/server.h"

namespace millrace::mapreduce {
namespace {

std::shared_ptr<Runtime> queue_runtime() {
  static const std::shared_ptr<Runtime> kRuntime = Runtime::create({.threads = 2});
  return kRuntime;
}

// The owner's task, and sessions of several attempts on it.
struct QueueYard {
  explicit QueueYard(std::chrono::milliseconds lease = std::chrono::hours(1)) {
    ServerOptions options;
    REQUIRE(options.cluster.add_job("files", {"localhost:0"}).ok());
    options.job = "files";
    server = Server::start(std::move(options), queue_runtime()).value();
    job.lease = lease;
    job.attempts = 3;
  }
  std::unique_ptr<SharedQueues> session() { return SharedQueues::create(*server, job).value(); }

  std::unique_ptr<Server> server;
  Job job;
};

TEST_CASE("of an attempt that died after its report and the next one, one report is in the queue") {
  QueueYard yard;
  const auto owner = yard.session();
  REQUIRE(owner->put(PieceKind::map, "piece").ok());
  {
    const auto first = yard.session();
    SharedQueues::Loan loan = first->take(PieceKind::map).value();
    CHECK(loan.text == "piece");
    CHECK(loan.attempt == 1);
    REQUIRE(first->report(loan, "by the first").ok());
    // It goes without having acknowledged.
  }
  const auto second = yard.session();
  SharedQueues::Loan loan = second->take(PieceKind::map).value();
  CHECK(loan.attempt == 2);
  REQUIRE(second->report(loan, "by the second").ok());
  REQUIRE(second->acknowledge(loan).ok());
  REQUIRE(owner->say("the last").ok());
  CHECK(owner->next_report().value() == "by the first");
  CHECK(owner->next_report().value() == "the last");
}

TEST_CASE("a piece that comes back as often as it may is given up, and can be looked into") {
  QueueYard yard;
  const auto owner = yard.session();
  REQUIRE(owner->put(PieceKind::reduce, "deadly").ok());
  CHECK(owner->num_waiting(PieceKind::reduce).value() == 1);
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(owner->dead(PieceKind::reduce).value().has_value());
    const auto worker = yard.session();
    CHECK(worker->take(PieceKind::reduce).ok());
  }
  CHECK(owner->dead(PieceKind::reduce).value() == "deadly");
  CHECK_FALSE(owner->dead(PieceKind::map).value().has_value());
}

TEST_CASE("a lease that nobody extends is lost, and one with a heartbeat lasts") {
  QueueYard yard(std::chrono::milliseconds(50));
  const auto owner = yard.session();
  const auto worker = yard.session();
  REQUIRE(owner->put(PieceKind::map, "piece").ok());
  const SharedQueues::Loan first = worker->take(PieceKind::map).value();
  // Waits until it comes back.
  const SharedQueues::Loan second = worker->take(PieceKind::map).value();
  CHECK(second.attempt == 2);
  CHECK_FALSE(worker->extend(first).value());
  yard.job.lease = std::chrono::hours(1);
  const auto patient = yard.session();
  const SharedQueues::Loan third = patient->take(PieceKind::map).value();
  CHECK(third.attempt == 3);
  { const Heartbeat heartbeat(*patient, third, std::chrono::milliseconds(3), Clock::real()); }
  CHECK(patient->extend(third).value());
  CHECK(patient->acknowledge(third).ok());
}

TEST_CASE("the end of a job ends who waits for work and for reports") {
  QueueYard yard;
  const auto owner = yard.session();
  const auto worker = yard.session();
  Status taken, heard;
  std::thread taker([&] { taken = worker->take(PieceKind::map).status(); });
  std::thread hearer([&] { heard = owner->next_report().status(); });
  owner->cancel_all();
  taker.join();
  hearer.join();
  CHECK(taken.code() == Code::out_of_range);
  CHECK(heard.code() == Code::out_of_range);
  CHECK(worker->say("late").code() == Code::cancelled);
}

}  // namespace
}  // namespace millrace::mapreduce

// What a Server is, one life long (server.cc) or several (server_lives.cc). For these two.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "millrace/base/mutex.h"
#include "millrace/session/server.h"
#include "millrace/session/succession.h"
#include "millrace/session/witness_watch.h"
#include "millrace/session/witnessed.h"
#include "millrace/transport/all.h"

namespace millrace {

// What is known of it as long as it lives.
struct ServerFacts {
  std::shared_ptr<Runtime> runtime;
  TaskName name;
  ClusterSpec cluster;
  std::string address, bound_address;
  std::shared_ptr<TaskReport> report;
  // Null: there is no witness. Outlives what it tells.
  std::unique_ptr<WitnessWatch> watch = nullptr;
};

class Server::Running {
 public:
  explicit Running(ServerFacts given)
      : facts(std::move(given)),
        log(facts.runtime->host().log.named(short_name(facts.name))),
        transport(facts.runtime->transports().between_tasks()) {}
  virtual ~Running() = default;

  virtual std::shared_ptr<MasterService> master() = 0;
  virtual TaskDescription describe() const = 0;
  virtual void end_program(const Status& how) = 0;
  virtual Status failure() const { return {}; }

  Status stop(Status why);
  bool join(std::optional<Clock::Time> deadline);

  const ServerFacts facts;
  const Log log;
  Transport& transport;

 protected:
  // Once, for stop(): ends everything.
  virtual Status end(const Status& why) = 0;

 private:
  Mutex mutex_;
  Condition changed_;
  bool is_stopping_ MR_GUARDED_BY(mutex_) = false;
  std::optional<Status> stopped_ MR_GUARDED_BY(mutex_);
};

// A task whose state another one has, too. `options` are those that take_witness() has made.
class Server::Lives final : public Server::Running {
 public:
  // Errors: as of PairedServer::start().
  static Result<std::unique_ptr<Running>> start(ServerOptions options, Witnessed witnessed,
                                                std::shared_ptr<Runtime> runtime);
  explicit Lives(ServerFacts given) : Running(std::move(given)) {}
  ~Lives() override;

  // What is at its address, as for any other client: whoever serves, or nobody.
  std::shared_ptr<MasterService> master() override { return master_; }
  TaskDescription describe() const override;
  void end_program(const Status& how) override;
  Status failure() const override;

 protected:
  Status end(const Status& why) override;

 private:
  class Turns;
  void tell(Succession::State state, bool is_first);

  std::shared_ptr<MasterService> master_;  // set by start()
  std::shared_ptr<Turns> turns_;           // likewise
  std::optional<Succession::State> told_;  // of turns, one at a time
};

}  // namespace millrace

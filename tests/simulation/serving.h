// Serving: the methods of one simulated task's master and worker, behind an address, as
// transport/protocol serves them: nothing is shared with the caller but bytes.
//
// Owned by the task. Handlers run among the task's work, so they come in another order than the
// requests if the seed says so.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/simulation/channel.h"
#include "tests/simulation/process.h"

#include "millrace/cluster/services.h"
#include "millrace/transport/protocol/received_call.h"

namespace millrace::simulation {

class Serving;

// One call from elsewhere, until it is answered.
class ServedCall final : public transport::ReceivedCall,
                         public std::enable_shared_from_this<ServedCall> {
 public:
  using Answer = std::function<void(WireAnswer)>;

  ServedCall(Serving& serving, uint64_t number, std::shared_ptr<Connection> connection,
             std::string_view method, std::string message, std::optional<Clock::Time> deadline,
             Answer answer);

  std::string_view method() const override { return method_; }
  transport::Chunks request() const override { return transport::Chunks(request_); }
  void drop_request() override { request_.clear(); }
  Call call() override { return {.cancellation = &cancellation_, .deadline = deadline_}; }
  // The caller cancelled it, or its connection broke.
  void dropped();
  void cancel(const Status& why);
  void answer(Result<wire::Pieces> reply) override;
  void answer_in_parts(std::vector<wire::Pieces> parts) override;

 private:
  friend class Serving;
  void send(WireAnswer answer);

  Serving* serving_;  // null once it has gone
  const uint64_t number_;
  const std::shared_ptr<Connection> connection_;
  const std::string_view method_;
  std::string request_;
  const std::optional<Clock::Time> deadline_;
  const Answer answer_;
  Cancellation cancellation_;
  Timers::Timer deadline_timer_;
  bool is_answered_ = false;
};

class Serving : public std::enable_shared_from_this<Serving> {
 public:
  // The services outlive it.
  Serving(Process& process, std::string address, MasterService& master, WorkerService& worker,
          const OpRegistry& ops);
  ~Serving();
  void start();

  // A request has arrived. Null if nobody takes it any more.
  std::shared_ptr<ServedCall> take(std::shared_ptr<Connection> connection, std::string_view method,
                                   std::string message, std::optional<Clock::Time> deadline,
                                   ServedCall::Answer answer);
  // Cancels what is being handled with `why` and takes no more; connections stay for the answers.
  void stop(const Status& why);
  // Nobody finds the task, and its connections close.
  void close();
  size_t num_calls() const { return calls_.size(); }

 private:
  friend class ServedCall;
  void accept(const std::shared_ptr<Connection>& connection);
  void closed(const Connection* connection);

  Process& process_;
  const std::string address_;
  transport::ServedMethods methods_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::map<uint64_t, std::shared_ptr<ServedCall>> calls_;  // in order of arrival
  uint64_t last_number_ = 0;
  Status stopping_;  // why; OK while it serves
};

}  // namespace millrace::simulation

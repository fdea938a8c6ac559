// Part of server_running.h: a server whose state another task has, too, stands by or serves, life
// after life (session/paired_server.h). What is to be done then is done where blocking is allowed,
// one turn after the other.
#include <functional>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/session/paired_server.h"
#include "millrace/session/server_running.h"
#include "millrace/session/witnessed.h"

namespace millrace {

// Shared with what is posted, which may let go of it last: so it owns neither the runtime, nor,
// after let_go(), the server, whose threads these are. Thread-safe.
class Server::Lives::Turns : public std::enable_shared_from_this<Turns> {
 public:
  // Turns are made there.
  explicit Turns(Runner& blocking) : blocking_(blocking) {}

  // Changes that came before are looked at now. `on_state` is called after each turn; `on_failure`
  // when it can't go on, as the last thing.
  void begin(std::unique_ptr<PairedServer> server,
             std::function<void(PairedServer::State)> on_state, std::function<void()> on_failure) {
    {
      MutexLock lock(server_mutex_);
      server_ = std::move(server);
    }
    on_state_ = std::move(on_state);
    on_failure_ = std::move(on_failure);
    {
      MutexLock lock(mutex_);
      has_begun_ = true;
    }
    wake();
  }

  void wake() {
    {
      MutexLock lock(mutex_);
      is_due_ = true;
      if (!has_begun_ || is_over_ || std::exchange(is_turning_, true)) return;
    }
    blocking_.post([self = shared_from_this()] { self->turn(); });
  }

  // Null: it has not begun.
  template <class Look>
  auto look(Look look) {
    MutexLock lock(server_mutex_);
    return look(server_.get());
  }

  // Returns when no turn is under way; there will be none.
  void end() {
    MutexLock lock(mutex_);
    is_over_ = true;
    while (is_turning_) changed_.wait(mutex_);
  }
  // After end(): returns when nobody is told of a failure any more.
  void rest() {
    MutexLock lock(mutex_);
    while (is_failing_) changed_.wait(mutex_);
  }

  // After end() and rest().
  void let_go() {
    MutexLock lock(server_mutex_);
    server_ = nullptr;
  }

  Status failure() const {
    MutexLock lock(mutex_);
    return failure_;
  }

 private:
  void turn();

  Runner& blocking_;
  std::function<void(PairedServer::State)> on_state_;  // set by begin()
  std::function<void()> on_failure_;                   // likewise

  Mutex server_mutex_;
  std::unique_ptr<PairedServer> server_ MR_GUARDED_BY(server_mutex_);

  mutable Mutex mutex_;
  Condition changed_;
  bool has_begun_ MR_GUARDED_BY(mutex_) = false;
  bool is_due_ MR_GUARDED_BY(mutex_) = false;
  bool is_turning_ MR_GUARDED_BY(mutex_) = false;
  bool is_failing_ MR_GUARDED_BY(mutex_) = false;
  bool is_over_ MR_GUARDED_BY(mutex_) = false;
  Status failure_ MR_GUARDED_BY(mutex_);
};

void Server::Lives::Turns::turn() {
  bool is_failed = false;
  while (true) {
    {
      MutexLock lock(mutex_);
      if (is_failed || is_over_ || !std::exchange(is_due_, false)) {
        is_over_ |= is_failed;
        is_failing_ = is_failed;
        is_turning_ = false;
        changed_.notify_all();
        break;
      }
    }
    const Result<PairedServer::State> state =
        look([](PairedServer* server) { return server->go_on(); });
    is_failed = !state.ok();
    if (state.ok()) on_state_(*state);
    MutexLock lock(mutex_);
    if (is_failed) failure_ = state.status();
  }
  if (!is_failed) return;
  on_failure_();
  MutexLock lock(mutex_);
  is_failing_ = false;
  changed_.notify_all();
}

Result<std::unique_ptr<Server::Running>> Server::Lives::start(ServerOptions options,
                                                              Witnessed witnessed,
                                                              std::shared_ptr<Runtime> runtime) {
  const auto turns = std::make_shared<Turns>(runtime->host().blocking);
  const TaskName task{options.job, 0, options.task};
  const bool is_first = witnessed.is_first;
  std::shared_ptr<TaskReport> report = options.report;
  if (!witnessed.is_first) {
    // What it tells is not told by the task whose name it has.
    options.report = nullptr;
    if (report) report->set_task(witnessed.launched);
  }
  const std::chrono::milliseconds silence = options.suspect_after;
  MR_ASSIGN(auto paired, PairedServer::start({.server = std::move(options),
                                              .witness_address = witnessed.address,
                                              .is_first = witnessed.is_first,
                                              .silence = silence},
                                             runtime, [weak = std::weak_ptr<Turns>(turns)] {
                                               if (const auto known = weak.lock()) known->wake();
                                             }));
  ServerFacts facts{.runtime = std::move(runtime),
                    .name = task,
                    .cluster = std::move(witnessed.cluster),
                    .address = paired->address(),
                    .bound_address = paired->bound_address(),
                    .report = std::move(report),
                    .watch = std::move(witnessed.watch)};
  auto made = std::make_unique<Lives>(std::move(facts));
  Lives* const lives = made.get();
  MR_ASSIGN(lives->master_,
            lives->transport.dial(str_cat(lives->transport.scheme(), "://", lives->facts.address),
                                  lives->facts.runtime->patience()));
  lives->turns_ = turns;
  turns->begin(
      std::move(paired),
      [lives, is_first](PairedServer::State state) { lives->tell(state, is_first); },
      [lives] { (void)lives->stop(lives->failure()); });
  return made;
}

Server::Lives::~Lives() {
  if (const Status status = stop({}); !status.ok()) log.warning(status.to_string());
  if (!turns_) return;
  turns_->rest();
  turns_->let_go();
}

void Server::Lives::tell(PairedServer::State state, bool is_first) {
  if (std::exchange(told_, state) == state) return;
  const bool serves = state == PairedServer::State::serves;
  log.info(serves ? "serves at " : "stands by at ", facts.address);
  // The first side's server does so itself.
  if (serves && !is_first && facts.report) facts.report->tell(TaskServes{facts.address});
}

TaskDescription Server::Lives::describe() const {
  return turns_->look([this](const PairedServer* server) {
    const Server* const serving = server == nullptr ? nullptr : server->server();
    if (serving != nullptr) return serving->describe();
    return TaskDescription{.task = facts.name.to_string()};
  });
}

void Server::Lives::end_program(const Status& how) {
  if (facts.report) facts.report->tell_end(end_of(how));
  turns_->look([&](PairedServer* server) {
    if (server != nullptr) server->end(how);
  });
}

Status Server::Lives::end(const Status& why) {
  if (!turns_) return {};
  turns_->end();
  if (const Status failed = turns_->failure(); !failed.ok()) log.error(failed.to_string());
  return turns_->look(
      [&](PairedServer* server) { return server == nullptr ? Status() : server->stop(why); });
}

Status Server::Lives::failure() const { return turns_->failure(); }

}  // namespace millrace

#include "tests/simulation/stage.h"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace millrace::simulation {
namespace {

// The worker of a task, as another one (or its own master) sees it, with the stage between them.
class WatchedWorker final : public WorkerService,
                            public std::enable_shared_from_this<WatchedWorker> {
 public:
  WatchedWorker(Stage& stage, std::string from, std::string to,
                std::shared_ptr<WorkerService> worker)
      : stage_(stage), from_(std::move(from)), to_(std::move(to)), worker_(std::move(worker)) {}

  void get_status(WhenDown when, Call call, Done<GetStatusReply> done) override {
    const bool waits = when == WhenDown::wait;
    pass("GetStatus", waits ? "" : " now", call, std::move(done),
         [worker = worker_, when](Call call, Done<GetStatusReply> done) {
           worker->get_status(when, call, std::move(done));
         });
  }
  void create_worker_session(CreateWorkerSessionRequest request, Call call,
                             Done<void> done) override {
    stage_.name_session(request.session_handle);
    pass_on("CreateWorkerSession", "", &WorkerService::create_worker_session, std::move(request),
            call, std::move(done));
  }
  void delete_worker_session(DeleteWorkerSessionRequest request, Call call,
                             Done<void> done) override {
    pass_on("DeleteWorkerSession", "", &WorkerService::delete_worker_session, std::move(request),
            call, std::move(done));
  }
  void register_graph(RegisterGraphRequest request, Call call,
                      Done<RegisterGraphReply> done) override {
    const std::string text = str_cat(" nodes=", request.graph->size());
    // What is held by pointer is watched, too.
    Done<RegisterGraphReply> watched([self = shared_from_this(), done = std::move(done)](
                                         Result<RegisterGraphReply> reply) mutable {
      if (reply.ok() && reply->part != nullptr)
        reply->part = std::make_shared<WatchedPart>(self, std::move(reply->part));
      done(std::move(reply));
    });
    pass_on("RegisterGraph", text, &WorkerService::register_graph, std::move(request), call,
            std::move(watched));
  }
  void deregister_graph(DeregisterGraphRequest request, Call call, Done<void> done) override {
    pass_on("DeregisterGraph", "", &WorkerService::deregister_graph, std::move(request), call,
            std::move(done));
  }
  void run_graph(RunGraphRequest request, Call call, Done<RunGraphReply> done) override {
    const std::string text = text_of(request);
    pass_on("RunGraph", text, &WorkerService::run_graph, std::move(request), call, std::move(done));
  }
  void cleanup_graph(CleanupGraphRequest request, Call call, Done<void> done) override {
    const std::string text = str_cat(" step=", stage_.step(request.step_id));
    pass_on("CleanupGraph", text, &WorkerService::cleanup_graph, request, call, std::move(done));
  }
  void cleanup_all(CleanupAllRequest request, Call call, Done<void> done) override {
    pass_on("CleanupAll", "", &WorkerService::cleanup_all, std::move(request), call,
            std::move(done));
  }
  void recv_tensor(RecvTensorRequest request, Call call, Done<RecvTensorReply> done) override {
    const std::string text = str_cat(" step=", stage_.step(request.step_id));
    pass_on("RecvTensor", text, &WorkerService::recv_tensor, std::move(request), call,
            std::move(done));
  }
  void farewell(EndedTask ended, Call call, Done<void> done) override {
    pass_on("Farewell", "", &WorkerService::farewell, std::move(ended), call, std::move(done));
  }

 private:
  // A graph that is held by pointer.
  class WatchedPart final : public RegisteredPart {
   public:
    WatchedPart(std::shared_ptr<WatchedWorker> worker, std::shared_ptr<RegisteredPart> part)
        : worker_(std::move(worker)), part_(std::move(part)) {}
    void run(PartRun request, Call call, Done<RunGraphReply> done) override {
      const std::string text = worker_->text_of(request);
      worker_->pass(
          "RunGraph", text, call, std::move(done),
          [part = part_, request = std::move(request)](Call call, Done<RunGraphReply> done) {
            part->run(request, call, std::move(done));
          });
    }
    void deregister(Call call, Done<void> done) override {
      worker_->pass(
          "DeregisterGraph", "", call, std::move(done),
          [part = part_](Call call, Done<void> done) { part->deregister(call, std::move(done)); });
    }

   private:
    const std::shared_ptr<WatchedWorker> worker_;
    const std::shared_ptr<RegisteredPart> part_;
  };

  std::string text_of(const PartRun& request) {
    std::string text = str_cat(" step=", stage_.step(request.step_id));
    for (const Tensor& value : request.values) str_append(&text, " send=", value.to_string());
    if (!request.keys->receive.empty())
      str_append(&text, " receive=", request.keys->receive.size());
    if (request.is_partial) str_append(&text, request.is_last_partial_run ? " last leg" : " leg");
    return text;
  }

  // One call, from when it is made until it is answered.
  template <class T>
  struct Passing {
    Done<T> done;
    Cancellation::Registration registration;
    std::optional<std::list<Stage::Held>::iterator> held;
  };

  template <class Request, class T>
  void pass_on(const std::string& method, const std::string& text,
               void (WorkerService::*start)(Request, Call, Done<T>), Request request, Call call,
               Done<T> done) {
    pass(method, text, call, std::move(done),
         [worker = worker_, start, request = std::move(request)](Call call, Done<T> done) {
           (worker.get()->*start)(request, call, std::move(done));
         });
  }

  template <class T, class Start>
  void pass(const std::string& method, const std::string& text, Call call, Done<T> done,
            Start start) {
    const bool is_routine = method == "GetStatus";
    if (!is_routine || text == " now") stage_.say(str_cat(from_, " -> ", to_, " ", method, text));
    auto passing = std::make_shared<Passing<T>>();
    passing->done = std::move(done);
    // Callers may let go of the worker once they have asked.
    const auto finish = [this, self = shared_from_this(), passing, method](Outcome<T> outcome) {
      passing->registration.release();
      answered<T>(method, outcome);
      Done<T> done = std::move(passing->done);
      if (done) done(std::move(outcome));
    };
    const auto go_on = [start, call, finish] { start(call, Done<T>(finish)); };
    const auto unheld = [&stage = stage_, passing] {
      stage.forget(*std::exchange(passing->held, {}));
    };
    if (stage_.holds(to_, method)) {
      passing->held = stage_.keep({to_, method,
                                   [unheld, go_on] {
                                     unheld();
                                     go_on();
                                   },
                                   [unheld, finish](const Status& status) {
                                     unheld();
                                     finish(Outcome<T>(status));
                                   }});
    }
    if (call.cancellation != nullptr) {
      passing->registration = call.cancellation->on_cancel(
          [this, self = shared_from_this(), passing, method](const Status& why) {
            if (method != "RecvTensor")
              stage_.say(str_cat(from_, " -> ", to_, " cancel ", method, ": ", why.to_string()));
            // In its own process there is nobody who could drop the call: it is as a kernel that
            // does not look.
            if (!passing->held || from_ == to_) return;
            // Nothing of it ever arrived. Not inside the cancellation, which may go with the
            // answer.
            stage_.forget(*std::exchange(passing->held, std::nullopt));
            stage_.actor().post([passing, why] {
              passing->registration.release();
              Done<T> done = std::move(passing->done);
              if (done) done(Outcome<T>(why.as_consequence()));
            });
          });
    }
    if (!passing->held) go_on();
  }

  template <class T>
  void answered(const std::string& method, const Outcome<T>& outcome) {
    const auto& status = [&]() -> const Status& {
      if constexpr (std::is_void_v<T>) {
        return outcome;
      } else {
        return outcome.status();
      }
    }();
    // Tensors that nobody wants any more are many, and come as the order of work has it.
    if (status.ok() || status.is_consequence() || method == "GetStatus") return;
    stage_.say(str_cat(from_, " <- ", to_, " ", method, " ", status.to_string()));
  }

  Stage& stage_;
  const std::string from_, to_;
  const std::shared_ptr<WorkerService> worker_;
};

}  // namespace

void Stage::say(const std::string& line) {
  if (is_muted_) return;
  const auto now = world_.elapsed();
  const auto tenths =
      std::chrono::duration_cast<std::chrono::duration<int64_t, std::deci>>(now - last_said_);
  if (tenths.count() > 0)
    tell_(str_cat("... ", tenths.count() / 10, ".", tenths.count() % 10, " s"));
  last_said_ = now;
  std::string text = with_aliases(line);
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text.replace(at, 1, " | ");
  tell_(text);
}

std::string Stage::step(int64_t id) {
  const auto [known, is_new] = aliases_.try_emplace(std::to_string(id), "");
  if (is_new) known->second = std::to_string(++steps_);
  return known->second;
}

void Stage::name_session(const std::string& handle) {
  const auto [known, is_new] = aliases_.try_emplace(handle, "");
  if (is_new) known->second = str_cat("s", ++sessions_);
}

std::string Stage::with_aliases(std::string text) const {
  for (const auto& [known, alias] : aliases_) {
    if (known.size() < 8) continue;  // too short to be drawn at random
    for (size_t at = 0; (at = text.find(known, at)) != std::string::npos; at += alias.size())
      text.replace(at, known.size(), alias);
  }
  return text;
}

const Stage::Held* Stage::find(const std::string& to, const std::string& method) const {
  const auto found = std::ranges::find_if(
      calls_, [&](const Held& held) { return held.to == to && held.method == method; });
  return found == calls_.end() ? nullptr : &*found;
}

// The call leaves the list as it goes on.
bool Stage::release(const std::string& to, const std::string& method) {
  const Held* held = find(to, method);
  if (held == nullptr) return false;
  std::function<void()>(held->release)();
  return true;
}

bool Stage::answer(const std::string& to, const std::string& method, const Status& status) {
  const Held* held = find(to, method);
  if (held == nullptr) return false;
  std::function<void(const Status&)>(held->answer)(status);
  return true;
}

void Stage::release_all() {
  held_.clear();
  while (!calls_.empty()) std::function<void()>(calls_.front().release)();
}

std::shared_ptr<WorkerService> Stage::watch(std::string from, std::string to,
                                            std::shared_ptr<WorkerService> worker) {
  return std::make_shared<WatchedWorker>(*this, std::move(from), std::move(to), std::move(worker));
}

}  // namespace millrace::simulation

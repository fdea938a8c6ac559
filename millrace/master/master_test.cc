// A master and its workers as transcripts: the commands of a test on one side, what the master says
// to whom on the other. Workers are played by the test; everything runs on its thread.
//
//   tasks a b              /job:a is the master's own task; all are up
//   down b | up b          b does not answer GetStatus | answers it now
//   hold b RegisterGraph   b keeps such a call until `answer`
//   graph x = Const(1) @ /job:b
//   create [filter]        creates a session on the graph so far
//   extend 0               adds the nodes since then, expecting this version
//   run x:0 !target        runs a step (any number at once)
//   answer b RunGraph OK 7 | answer b RunGraph NOT_FOUND no file
//   cancel | close | reset | stop
//   setup x:0 <- f:0       partial run;  leg f:0=3 -> x:0
//   call f:0=3 -> x:0      makes a callable and runs it
#include "millrace/master/master.h"

#include <deque>
#include <map>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/graph/import.h"
#include "millrace/graph/text.h"
#include "millrace/master/roll_call.h"
#include "millrace/ops/all.h"

namespace millrace {
namespace {

// Runs what is posted when the test says so.
class TestRunner final : public Runner {
 public:
  void post(Task task) override {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    posted_.notify_all();
  }
  void run_all() {
    while (run_one()) {
    }
  }
  // For work that a timer's thread posts.
  void wait_and_run() {
    {
      MutexLock lock(mutex_);
      while (tasks_.empty()) posted_.wait(mutex_);
    }
    run_all();
  }

 private:
  bool run_one() {
    Task task;
    {
      MutexLock lock(mutex_);
      if (tasks_.empty()) return false;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    return true;
  }
  Mutex mutex_;
  Condition posted_;
  std::deque<Task> tasks_ MR_GUARDED_BY(mutex_);
};

struct Play;

class PlayedWorker final : public WorkerService {
 public:
  PlayedWorker(Play& play, std::string name) : play_(play), name_(std::move(name)) {}

  void get_status(WhenDown, Call call, Done<GetStatusReply> done) override;
  void create_worker_session(CreateWorkerSessionRequest, Call, Done<void>) override;
  void delete_worker_session(DeleteWorkerSessionRequest, Call, Done<void>) override;
  void register_graph(RegisterGraphRequest, Call, Done<RegisterGraphReply>) override;
  void deregister_graph(DeregisterGraphRequest, Call, Done<void>) override;
  void run_graph(RunGraphRequest, Call, Done<RunGraphReply>) override;
  void cleanup_graph(CleanupGraphRequest, Call, Done<void>) override;
  void cleanup_all(CleanupAllRequest, Call, Done<void>) override;
  void recv_tensor(RecvTensorRequest, Call, Done<RecvTensorReply>) override {}

  bool is_down = false;
  std::map<std::string, bool> held;

 private:
  // Keeps the answer for `answer`, or gives it at once.
  template <class T>
  void answer(const std::string& method, Call call, Done<T> done, Outcome<T> outcome);

  Play& play_;
  const std::string name_;
  int graphs_ = 0;
};

struct Play final : WorkerDirectory {
  struct Held {
    std::string worker, method;
    std::function<void(const Status&, float)> answer;
    Cancellation::Registration registration = {};
  };

  Play() : ops(), random(7), timers(), graph(ops) {
    CHECK(register_all_ops(ops).ok());
    graph = Graph(ops);
  }

  Result<std::shared_ptr<WorkerService>> worker(const TaskName& task, std::string_view) override {
    const auto found = workers.find(task.job);
    if (found == workers.end()) return not_found("no worker ", task.job);
    return std::shared_ptr<WorkerService>(found->second);
  }

  void say(const std::string& text) { out << text << '\n'; }
  int step(int64_t id) {
    return steps.try_emplace(id, static_cast<int>(steps.size()) + 1).first->second;
  }

  void start_master() {
    if (master) return;
    master = std::make_unique<Master>(MasterOptions{.own_task = {"a", 0, 0},
                                                    .cluster = cluster,
                                                    .ops = ops,
                                                    .random = random,
                                                    .timers = timers,
                                                    .pool = pool,
                                                    .workers = *this,
                                                    .reminder_interval = reminder_interval});
  }

  void answer(const std::string& name, const std::string& method, const Status& status,
              float value) {
    for (auto held = calls.begin(); held != calls.end(); ++held) {
      if (held->worker != name || held->method != method) continue;
      auto answer = std::move(held->answer);
      calls.erase(held);
      answer(status, value);
      return;
    }
    FAIL("nothing to answer: " << name << " " << method);
  }

  template <class Reply>
  Done<Reply> client(const std::string& what) {
    return Done<Reply>([this, what](Outcome<Reply> outcome) {
      if constexpr (std::is_void_v<Reply>) {
        say(str_cat("client <- ", what, " ", outcome.to_string()));
      } else {
        std::string text = outcome.status().to_string();
        if constexpr (requires { outcome->tensors; }) {
          if (outcome.ok())
            for (const Tensor& tensor : outcome->tensors)
              str_append(&text, " ", tensor.to_string());
        }
        if constexpr (requires { outcome->partial_run_handle; })
          if (outcome.ok()) partial_handle = outcome->partial_run_handle;
        if constexpr (requires { outcome->session_handle; })
          if (outcome.ok()) handle = outcome->session_handle;
        if constexpr (requires { outcome->handle; })
          if (outcome.ok()) callable = outcome->handle;
        say(str_cat("client <- ", what, " ", text));
      }
    });
  }

  OpRegistry ops;
  SeededRandom random;
  TimerQueue timers;
  TestRunner pool;
  ClusterSpec cluster;
  std::map<std::string, std::shared_ptr<PlayedWorker>> workers;
  std::vector<Held> calls;
  std::map<int64_t, int> steps;
  std::ostringstream out;
  std::chrono::milliseconds reminder_interval{10'000};
  Graph graph;
  size_t num_sent = 0;
  std::string handle, partial_handle;
  int64_t callable = 0;
  Cancellation cancellation;
  std::unique_ptr<Master> master;
};

template <class T>
void PlayedWorker::answer(const std::string& method, Call call, Done<T> done, Outcome<T> outcome) {
  if (!held[method]) {
    done(std::move(outcome));
    return;
  }
  auto shared = std::make_shared<Done<T>>(std::move(done));
  Play::Held call_held{name_, method, [shared, outcome](const Status& status, float value) mutable {
                         if (!status.ok()) {
                           (*shared)(status);
                           return;
                         }
                         if constexpr (std::is_same_v<T, RunGraphReply>) {
                           for (Delivery& delivery : outcome->values)
                             delivery.tensor = Tensor::scalar(value);
                         }
                         (*shared)(std::move(outcome));
                       }};
  if (call.cancellation != nullptr) {
    call_held.registration = call.cancellation->on_cancel([this, method](const Status& why) {
      play_.say(str_cat("master -> ", name_, " cancel ", method, ": ", why.to_string()));
    });
  }
  play_.calls.push_back(std::move(call_held));
}

void PlayedWorker::get_status(WhenDown when, Call call, Done<GetStatusReply> done) {
  held["GetStatus"] = is_down;
  if (when == WhenDown::fail) {
    play_.say(str_cat("master -> ", name_, " are you there?"));
    done(unavailable("connection refused"));
    return;
  }
  GetStatusReply reply;
  reply.devices.push_back(
      {.name = DeviceName::on({name_, 0, 0}).to_string(), .type = "CPU", .incarnation = 17});
  answer<GetStatusReply>("GetStatus", call, std::move(done), std::move(reply));
}
void PlayedWorker::create_worker_session(CreateWorkerSessionRequest, Call call, Done<void> done) {
  play_.say(str_cat("master -> ", name_, " CreateWorkerSession"));
  answer<void>("CreateWorkerSession", call, std::move(done), Status());
}
void PlayedWorker::delete_worker_session(DeleteWorkerSessionRequest, Call call, Done<void> done) {
  play_.say(str_cat("master -> ", name_, " DeleteWorkerSession"));
  answer<void>("DeleteWorkerSession", call, std::move(done), Status());
}
void PlayedWorker::register_graph(RegisterGraphRequest request, Call call,
                                  Done<RegisterGraphReply> done) {
  play_.say(str_cat("master -> ", name_, " RegisterGraph nodes=", request.graph->size()));
  answer<RegisterGraphReply>("RegisterGraph", call, std::move(done),
                             RegisterGraphReply{str_cat(name_, ++graphs_)});
}
void PlayedWorker::deregister_graph(DeregisterGraphRequest request, Call call, Done<void> done) {
  play_.say(str_cat("master -> ", name_, " DeregisterGraph ", request.graph_handle));
  answer<void>("DeregisterGraph", call, std::move(done), Status());
}
void PlayedWorker::run_graph(RunGraphRequest request, Call call, Done<RunGraphReply> done) {
  std::string text = str_cat("master -> ", name_, " RunGraph ", request.graph_handle,
                             " step=", play_.step(request.step_id));
  for (size_t i = 0; i < request.values.size(); ++i)
    str_append(&text, " send=", request.values[i].to_string());
  if (!request.keys->receive.empty()) str_append(&text, " receive=", request.keys->receive.size());
  if (request.is_partial) str_append(&text, request.is_last_partial_run ? " last leg" : " leg");
  play_.say(text);
  held["RunGraph"] = true;
  RunGraphReply reply;
  reply.values.resize(request.keys->receive.size());
  answer<RunGraphReply>("RunGraph", call, std::move(done), std::move(reply));
}
void PlayedWorker::cleanup_graph(CleanupGraphRequest request, Call call, Done<void> done) {
  play_.say(str_cat("master -> ", name_, " CleanupGraph step=", play_.step(request.step_id)));
  answer<void>("CleanupGraph", call, std::move(done), Status());
}
void PlayedWorker::cleanup_all(CleanupAllRequest, Call call, Done<void> done) {
  play_.say(str_cat("master -> ", name_, " CleanupAll"));
  answer<void>("CleanupAll", call, std::move(done), Status());
}

Code code_from(const std::string& name) {
  for (int code = 0; code <= 16; ++code)
    if (code_name(static_cast<Code>(code)) == name) return static_cast<Code>(code);
  FAIL("no such code: " << name);
  return Code::ok;
}

// "f:0=3" -> a feed of the float 3
NamedTensor feed_from(const std::string& word) {
  const size_t at = word.find('=');
  return {word.substr(0, at), Tensor::scalar(std::stof(word.substr(at + 1)))};
}

void perform(Play& play, std::istringstream& words, const std::string& verb) {
  const auto rest = [&] {
    std::string text;
    std::getline(words >> std::ws, text);
    return text;
  };
  const Call call{.cancellation = &play.cancellation};
  std::string name, word;
  if (verb == "tasks") {
    while (words >> name) {
      CHECK(play.cluster.add_job(name, {str_cat("host-", name, ":1")}).ok());
      play.workers[name] = std::make_shared<PlayedWorker>(play, name);
    }
  } else if (verb == "down") {
    words >> name;
    play.workers[name]->is_down = true;
  } else if (verb == "up") {
    words >> name;
    play.answer(name, "GetStatus", {}, 0);
  } else if (verb == "hold") {
    words >> name >> word;
    play.workers[name]->held[word] = true;
  } else if (verb == "graph") {
    // Parsed together with what is there, so that inputs are found.
    auto all = parse_graph(to_text(play.graph) + rest(), play.ops);
    REQUIRE_MESSAGE(all.ok(), all.status().to_string());
    play.graph = std::move(all).value();
  } else if (verb == "create") {
    CreateSessionRequest request;
    request.graph = export_graph(play.graph);
    play.num_sent = play.graph.size();
    while (words >> word) request.options.device_filters.push_back(word);
    play.master->create_session(std::move(request), call,
                                play.client<CreateSessionReply>("session"));
  } else if (verb == "extend") {
    ExtendSessionRequest request{play.handle, export_graph(play.graph), 0};
    words >> request.current_graph_version;
    auto& nodes = request.graph.nodes;
    nodes.erase(nodes.begin(), nodes.begin() + static_cast<ptrdiff_t>(play.num_sent));
    play.num_sent = play.graph.size();
    play.master->extend_session(std::move(request), call,
                                play.client<ExtendSessionReply>("extended"));
  } else if (verb == "run") {
    RunStepRequest request;
    request.session_handle = play.handle;
    while (words >> word) {
      if (word.find('=') != std::string::npos) {
        request.feeds.push_back(feed_from(word));
      } else if (word.starts_with("!")) {
        request.targets.push_back(word.substr(1));
      } else {
        request.fetches.push_back(word);
      }
    }
    play.master->run_step(std::move(request), call, play.client<RunStepReply>("step"));
  } else if (verb == "setup") {
    PartialRunSetupRequest request{play.handle, {}, {}, {}};
    auto* list = &request.fetches;
    while (words >> word) {
      if (word == "<-") {
        list = &request.feeds;
      } else {
        list->push_back(word);
      }
    }
    play.master->partial_run_setup(std::move(request), call,
                                   play.client<PartialRunSetupReply>("setup"));
  } else if (verb == "leg") {
    RunStepRequest request;
    request.session_handle = play.handle;
    request.partial_run_handle = play.partial_handle;
    while (words >> word) {
      if (word.find('=') != std::string::npos) {
        request.feeds.push_back(feed_from(word));
      } else if (word != "->") {
        request.fetches.push_back(word);
      }
    }
    play.master->run_step(std::move(request), call, play.client<RunStepReply>("leg"));
  } else if (verb == "call") {
    MakeCallableRequest request{play.handle, {}, {}, {}, {}};
    std::vector<Tensor> feeds;
    while (words >> word) {
      if (word.find('=') != std::string::npos) {
        NamedTensor feed = feed_from(word);
        request.feeds.push_back(feed.name);
        feeds.push_back(feed.tensor);
      } else if (word != "->") {
        request.fetches.push_back(word);
      }
    }
    play.master->make_callable(std::move(request), call,
                               play.client<MakeCallableReply>("callable"));
    play.pool.run_all();
    play.master->run_callable({play.handle, play.callable, std::move(feeds)}, call,
                              play.client<RunCallableReply>("values"));
  } else if (verb == "answer") {
    std::string code, text;
    words >> name >> word >> code;
    text = rest();
    if (code == "OK") {
      play.answer(name, word, {}, text.empty() ? 0 : std::stof(text));
    } else {
      const bool is_consequence = code.starts_with("~");
      const Status status(code_from(code.substr(is_consequence)), text);
      play.answer(name, word, is_consequence ? status.as_consequence() : status, 0);
    }
  } else if (verb == "cancel") {
    play.cancellation.cancel(cancelled("client went away"));
  } else if (verb == "close") {
    play.master->close_session({play.handle}, {}, play.client<void>("closed"));
  } else if (verb == "reset") {
    play.master->reset({}, {}, play.client<void>("reset"));
  } else if (verb == "stop") {
    play.master->stop(unavailable("server stopped"));
  } else {
    FAIL("what is " << verb);
  }
}

std::string run(const std::string& script) {
  Play play;
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string verb;
    if (!(words >> verb)) continue;
    if (verb != "tasks") play.start_master();
    perform(play, words, verb);
    play.pool.run_all();
  }
  const std::string text = play.out.str();
  // Whatever the script left open ends with the master.
  for (auto& [name, worker] : play.workers) worker->held.clear();
  play.master->stop(unavailable("end of play"));
  play.pool.run_all();
  while (!play.calls.empty()) {
    play.answer(play.calls.front().worker, play.calls.front().method,
                cancelled("end").as_consequence(), 0);
    play.pool.run_all();
  }
  return text;
}

TEST_CASE(
    "a step runs where its nodes are; others first, the own part last; then it is cleaned up") {
  CHECK(run("tasks a b\n"
            "graph x = Placeholder(dtype=float) @ /job:b\n"
            "graph y = Neg(x) @ /job:b\n"
            "graph z = Neg(y) @ /job:a\n"
            "create\n"
            "run x:0=3 z:0\n"
            "answer b RunGraph OK\n"
            "answer a RunGraph OK 3\n"
            "close\n") ==
        "master -> a CreateWorkerSession\n"
        "master -> b CreateWorkerSession\n"
        "client <- session OK\n"
        "master -> b RegisterGraph nodes=3\n"
        "master -> a RegisterGraph nodes=3\n"
        "master -> b RunGraph b1 step=1 send=float[] 3\n"
        "master -> a RunGraph a1 step=1 receive=1\n"
        "client <- step OK float[] 3\n"
        "master -> b CleanupGraph step=1\n"
        "master -> a CleanupGraph step=1\n"
        "master -> a DeleteWorkerSession\n"
        "master -> b DeleteWorkerSession\n"
        "client <- closed OK\n");
}

TEST_CASE("a step on the own task alone is one message, and repeated steps plan nothing") {
  CHECK(run("tasks a b\n"
            "graph x = VariableV2(dtype=float, shape=[])\n"
            "create\n"
            "run x:0\n"
            "answer a RunGraph OK 1\n"
            "run x:0\n"
            "answer a RunGraph OK 2\n") ==
        "master -> a CreateWorkerSession\n"
        "master -> b CreateWorkerSession\n"
        "client <- session OK\n"
        "master -> a RegisterGraph nodes=2\n"
        "master -> a RunGraph a1 step=1 receive=1\n"
        "client <- step OK float[] 1\n"
        "master -> a RunGraph a1 step=2 receive=1\n"
        "client <- step OK float[] 2\n");
}

TEST_CASE(
    "a session waits for tasks that are not there yet, but only for those its filters allow") {
  CHECK(run("tasks a b c\n"
            "down b\n"
            "down c\n"
            "create /job:b\n"
            "up b\n") ==
        "master -> a CreateWorkerSession\n"
        "master -> b CreateWorkerSession\n"
        "client <- session OK\n");
}

TEST_CASE("now and then the master looks who is missing, and why") {
  Play play;
  play.reminder_interval = std::chrono::milliseconds(1);
  std::istringstream tasks("a b"), down("b"), none;
  perform(play, tasks, "tasks");
  play.start_master();
  perform(play, down, "down");
  perform(play, none, "create");
  play.pool.wait_and_run();
  CHECK(play.out.str().starts_with("master -> b are you there?\n"));
  play.answer("b", "GetStatus", {}, 0);
  play.pool.run_all();
  CHECK(play.out.str().ends_with("client <- session OK\n"));

  CHECK(
      reminder("CreateSession", {{"ps", 0, 0}, "ps0:2222"}, unavailable("connection refused")) ==
      "CreateSession still waiting for response from worker: /job:ps/replica:0/task:0 at ps0:2222 "
      "(UNAVAILABLE: connection refused)");
}

TEST_CASE("a client that goes away while tasks are missing is not waited for") {
  CHECK(run("tasks a b\n"
            "down b\n"
            "create\n"
            "cancel\n"
            "answer b GetStatus ~CANCELLED given up\n") ==
        "master -> b cancel GetStatus: CANCELLED: client went away\n"
        "client <- session CANCELLED: client went away\n");
}

TEST_CASE("what is wrong with a request is said before anybody is waited for") {
  CHECK(run("tasks a b\n"
            "down b\n"
            "create /jobs:x\n")
            .starts_with("client <- session INVALID_ARGUMENT: device filter '/jobs:x'"));
}

TEST_CASE("a member that refuses the session is named, and all are told to forget it") {
  CHECK(run("tasks a b\n"
            "hold b CreateWorkerSession\n"
            "create\n"
            "answer b CreateWorkerSession INTERNAL no room\n") ==
        "master -> a CreateWorkerSession\n"
        "master -> b CreateWorkerSession\n"
        "master -> a DeleteWorkerSession\n"
        "master -> b DeleteWorkerSession\n"
        "client <- session INTERNAL: creating the session at /job:b/replica:0/task:0 (host-b:1): "
        "no room\n");
}

constexpr const char* kTwoTasks =
    "tasks a b\n"
    "graph x = VariableV2(dtype=float, shape=[]) @ /job:b\n"
    "graph y = Neg(x) @ /job:a\n"
    "create\n";
constexpr const char* kTwoTasksSay =
    "master -> a CreateWorkerSession\n"
    "master -> b CreateWorkerSession\n"
    "client <- session OK\n"
    "master -> b RegisterGraph nodes=2\n"
    "master -> a RegisterGraph nodes=3\n"
    "master -> b RunGraph b1 step=1\n"
    "master -> a RunGraph a1 step=1 receive=1\n";

TEST_CASE(
    "a worker that dies mid-step fails the step with its own name, once, and all is cleaned up") {
  CHECK(run(std::string(kTwoTasks) + "run y:0\n"
                                     "answer b RunGraph UNAVAILABLE stopped answering\n"
                                     "answer a RunGraph ~CANCELLED stopped\n") ==
        std::string(kTwoTasksSay) +
            "master -> a cancel RunGraph: UNAVAILABLE: From /job:b/replica:0/task:0:\n"
            "stopped answering\n"
            "client <- step UNAVAILABLE: From /job:b/replica:0/task:0:\n"
            "stopped answering (1 consequence hidden)\n"
            "master -> b CleanupGraph step=1\n"
            "master -> a CleanupGraph step=1\n");
}

TEST_CASE("a client that goes away cancels its step everywhere") {
  CHECK(run(std::string(kTwoTasks) + "run y:0\n"
                                     "cancel\n"
                                     "answer a RunGraph ~CANCELLED stopped\n"
                                     "answer b RunGraph ~CANCELLED stopped\n") ==
        std::string(kTwoTasksSay) +
            "master -> b cancel RunGraph: CANCELLED: client went away\n"
            "master -> a cancel RunGraph: CANCELLED: client went away\n"
            "client <- step CANCELLED: client went away\n"
            "master -> b CleanupGraph step=1\n"
            "master -> a CleanupGraph step=1\n");
}

TEST_CASE("closing a session ends its steps and waits for them and their clean-up") {
  CHECK(run(std::string(kTwoTasks) + "hold b CleanupGraph\n"
                                     "run y:0\n"
                                     "close\n"
                                     "answer a RunGraph ~CANCELLED stopped\n"
                                     "answer b RunGraph ~CANCELLED stopped\n"
                                     "answer b CleanupGraph OK\n"
                                     "run y:0\n"
                                     "close\n")
            .substr(std::string(kTwoTasksSay).size())
            .starts_with(
                "master -> b cancel RunGraph: CANCELLED: Step was cancelled by an explicit call to "
                "`Session::Close()`.\n"
                "master -> a cancel RunGraph: CANCELLED: Step was cancelled by an explicit call to "
                "`Session::Close()`.\n"
                "client <- step CANCELLED: Step was cancelled by an explicit call to "
                "`Session::Close()`.\n"
                "master -> b CleanupGraph step=1\n"
                "master -> a CleanupGraph step=1\n"
                "master -> a DeleteWorkerSession\n"
                "master -> b DeleteWorkerSession\n"
                "client <- closed OK\n"
                "client <- step ABORTED: Session "));
}

TEST_CASE("a step whose registration fails takes the others' back, and is tried again next time") {
  CHECK(run("tasks a b\n"
            "graph x = VariableV2(dtype=float, shape=[]) @ /job:b\n"
            "graph y = Neg(x) @ /job:a\n"
            "create\n"
            "hold b RegisterGraph\n"
            "run y:0\n"
            "answer b RegisterGraph ABORTED Session handle is not found: 1. Possibly this worker "
            "(\"/job:b/replica:0/task:0\") just restarted.\n")
            .find("master -> a DeregisterGraph a1\n"
                  "client <- step ABORTED: From /job:b/replica:0/task:0:\n"
                  "Session handle is not found: 1.") != std::string::npos);
}

TEST_CASE("extending checks the version, keeps old plans and refuses repeated nodes") {
  CHECK(run("tasks a\n"
            "graph x = VariableV2(dtype=float, shape=[])\n"
            "create\n"
            "run x:0\n"
            "answer a RunGraph OK 1\n"
            "graph y = Neg(x)\n"
            "extend 3\n"
            "graph z = Neg(y)\n"
            "run y:0\n") ==
        "master -> a CreateWorkerSession\n"
        "client <- session OK\n"
        "master -> a RegisterGraph nodes=2\n"
        "master -> a RunGraph a1 step=1 receive=1\n"
        "client <- step OK float[] 1\n"
        "client <- extended ABORTED: Current version is 0 but caller expected 3.\n"
        "client <- step NOT_FOUND: FetchOutputs node y:0: not found\n");
  CHECK(run("tasks a\n"
            "graph x = VariableV2(dtype=float, shape=[])\n"
            "create\n"
            "graph y = Neg(x)\n"
            "extend 0\n"
            "run y:0\n"
            "answer a RunGraph OK -1\n") ==
        "master -> a CreateWorkerSession\n"
        "client <- session OK\n"
        "client <- extended OK\n"
        "master -> a RegisterGraph nodes=3\n"
        "master -> a RunGraph a1 step=1 receive=1\n"
        "client <- step OK float[] -1\n");
}

TEST_CASE("a callable feeds and fetches by place") {
  CHECK(run("tasks a\n"
            "graph f = Placeholder(dtype=float)\n"
            "graph y = Neg(f)\n"
            "create\n"
            "call f:0=4 -> y:0 y:0\n"
            "answer a RunGraph OK -4\n") ==
        "master -> a CreateWorkerSession\n"
        "client <- session OK\n"
        "master -> a RegisterGraph nodes=3\n"
        "client <- callable OK\n"
        "master -> a RunGraph a1 step=1 send=float[] 4 receive=1\n"
        "client <- values OK float[] -4 float[] -4\n");
}

TEST_CASE("a partial run goes leg by leg and checks what each may fetch") {
  const std::string start =
      "tasks a\n"
      "graph f = Placeholder(dtype=float)\n"
      "graph g = Placeholder(dtype=float)\n"
      "graph y = Neg(f)\n"
      "graph z = Add(y, g)\n"
      "create\n"
      "setup y:0 z:0 <- f:0 g:0\n";
  const std::string says =
      "master -> a CreateWorkerSession\n"
      "client <- session OK\n"
      "master -> a RegisterGraph nodes=6\n"
      "client <- setup OK\n";
  CHECK(run(start + "leg f:0=1 -> y:0\n"
                    "answer a RunGraph OK -1\n"
                    "leg g:0=5 -> z:0\n"
                    "answer a RunGraph OK 4\n"
                    "leg g:0=5 -> z:0\n") ==
        says +
            "master -> a RunGraph a1 step=1 send=float[] 1 receive=1 leg\n"
            "client <- leg OK float[] -1\n"
            "master -> a RunGraph a1 step=1 send=float[] 5 receive=1 last leg\n"
            "master -> a CleanupGraph step=1\n"
            "client <- leg OK float[] 4\n"
            "client <- leg INVALID_ARGUMENT: Must run PartialRunSetup before performing partial "
            "runs\n");
  CHECK(
      run(start + "leg f:0=1 -> z:0\n")
          .substr(says.size())
          .starts_with("master -> a CleanupGraph step=1\n"
                       "client <- leg INVALID_ARGUMENT: Fetch z:0 can't be computed from the feeds "
                       "that have been fed so far: g:0 is missing."));
}

TEST_CASE("reset drops containers everywhere and ends all sessions") {
  CHECK(run("tasks a b\n"
            "create\n"
            "reset\n"
            "run x:0\n")
            .starts_with("master -> a CreateWorkerSession\n"
                         "master -> b CreateWorkerSession\n"
                         "client <- session OK\n"
                         "master -> a CleanupAll\n"
                         "master -> b CleanupAll\n"
                         "master -> a DeleteWorkerSession\n"
                         "master -> b DeleteWorkerSession\n"
                         "client <- reset OK\n"
                         "client <- step ABORTED: Session "));
}

TEST_CASE("a master that stops ends steps and refuses more, with its reason") {
  CHECK(run("tasks a\n"
            "graph x = VariableV2(dtype=float, shape=[])\n"
            "create\n"
            "run x:0\n"
            "stop\n"
            "answer a RunGraph ~CANCELLED stopped\n"
            "create\n") ==
        "master -> a CreateWorkerSession\n"
        "client <- session OK\n"
        "master -> a RegisterGraph nodes=2\n"
        "master -> a RunGraph a1 step=1 receive=1\n"
        "master -> a cancel RunGraph: UNAVAILABLE: server stopped\n"
        "client <- step UNAVAILABLE: server stopped\n"
        "master -> a DeleteWorkerSession\n"
        "client <- session UNAVAILABLE: server stopped\n");
}

TEST_CASE("handles that are not known get the codes that clients act on") {
  Play play;
  CHECK(play.cluster.add_job("a", {"host-a:1"}).ok());
  play.workers["a"] = std::make_shared<PlayedWorker>(play, "a");
  play.start_master();
  play.handle = "0123456789abcdef";
  play.master->run_callable({play.handle, 1, {}}, {}, play.client<RunCallableReply>("call"));
  play.master->close_session({play.handle}, {}, play.client<void>("close"));
  play.master->list_devices({play.handle}, {}, play.client<ListDevicesReply>("list"));
  play.master->extend_session({"short", {}, 0}, {}, play.client<ExtendSessionReply>("extend"));
  CHECK(play.out.str() ==
        "client <- call ABORTED: Session 0123456789abcdef is not found.\n"
        "client <- close ABORTED: Session 0123456789abcdef is not found. Possibly, this master has "
        "restarted.\n"
        "client <- list INVALID_ARGUMENT: Session 0123456789abcdef is not found. Possibly, this "
        "master has restarted.\n"
        "client <- extend ABORTED: Session short is not found.\n");
}

TEST_CASE("a step that takes longer than it may ends with DEADLINE_EXCEEDED, wherever it hangs") {
  Play play;
  CHECK(play.cluster.add_job("a", {"host-a:1"}).ok());
  play.workers["a"] = std::make_shared<PlayedWorker>(play, "a");
  play.start_master();
  std::istringstream none;
  std::istringstream node("x = VariableV2(dtype=float, shape=[])");
  perform(play, node, "graph");
  perform(play, none, "create");
  play.pool.run_all();
  RunStepRequest request;
  request.session_handle = play.handle;
  request.fetches = {"x:0"};
  request.options.timeout = std::chrono::milliseconds(1);

  // While it runs …
  play.master->run_step(request, {.waiting = true}, play.client<RunStepReply>("step"));
  play.pool.wait_and_run();
  play.answer("a", "RunGraph", cancelled("stopped").as_consequence(), 0);
  // … and while it is planned.
  play.workers["a"]->held["RegisterGraph"] = true;
  request.targets = {"x"};
  play.master->run_step(request, {.waiting = true}, play.client<RunStepReply>("step"));
  play.pool.wait_and_run();
  CHECK(play.out.str().find("client <- step DEADLINE_EXCEEDED: Timed out waiting for step ") !=
        std::string::npos);
  CHECK(play.out.str().find(
            "client <- step DEADLINE_EXCEEDED: Timed out waiting for the step to be planned") !=
        std::string::npos);
  play.answer("a", "RegisterGraph", {}, 0);
}

}  // namespace
}  // namespace millrace

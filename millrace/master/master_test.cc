// What a master says to its workers and clients, as transcripts: see play.h for the language.
#include "millrace/master/early_end.h"
#include "millrace/master/roll_call.h"
#include "millrace/master/testing/play.h"

namespace millrace {
namespace {

using testing::perform;
using testing::Play;
using testing::PlayedWorker;
using testing::run;

TEST_CASE("a client is told what is missing before it stops listening") {
  using std::chrono::milliseconds;
  const Clock::Time now = Clock::real().now();
  CHECK(EarlyEnd::in_time_for(now + milliseconds(60'000), now) == now + milliseconds(59'500));
  CHECK(EarlyEnd::in_time_for(now + milliseconds(1'000), now) == now + milliseconds(900));
  CHECK(EarlyEnd::in_time_for(now, now) == now);
  CHECK(EarlyEnd::in_time_for(now - milliseconds(10), now) == now - milliseconds(10));
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
        "client <- call ABORTED: Session 0123456789abcdef is not found. Possibly, this master has "
        "restarted.\n"
        "client <- close ABORTED: Session 0123456789abcdef is not found. Possibly, this master has "
        "restarted.\n"
        "client <- list INVALID_ARGUMENT: Session 0123456789abcdef is not found. Possibly, this "
        "master has restarted.\n"
        "client <- extend ABORTED: Session short is not found. Possibly, this master has "
        "restarted.\n");
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
  CHECK(play.out.str().find("; it fetches x:0; not finished is /job:a/replica:0/task:0\n") !=
        std::string::npos);
  CHECK(play.out.str().find(
            "client <- step DEADLINE_EXCEEDED: Timed out waiting for the step to be planned") !=
        std::string::npos);
  play.answer("a", "RegisterGraph", {}, 0);
}

}  // namespace
}  // namespace millrace

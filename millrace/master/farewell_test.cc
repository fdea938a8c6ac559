// What a master does about tasks that have ended well, as transcripts: see play.h for the language.
#include "millrace/master/testing/play.h"

namespace millrace {
namespace {

using testing::run;

TEST_CASE("a session does not wait for a task that ends well meanwhile, or had before") {
  CHECK(run("tasks a b\n"
            "down b\n"
            "create\n"
            "ended b 17\n"
            "create\n") ==
        "master -> b are you there?\n"
        "master -> b cancel GetStatus: CANCELLED: the roll call is over\n"
        "master -> a CreateWorkerSession\n"
        "client <- session OK\n"
        "master -> b are you there?\n"
        "master -> a CreateWorkerSession\n"
        "client <- session OK\n");
}

TEST_CASE(
    "a task that is there again takes part, whatever its last life; one that just goes does not") {
  CHECK(run("tasks a b c\n"
            "ended b 16\n"
            "ended c 17\n"
            "create\n") ==
        "master -> a CreateWorkerSession\n"
        "master -> b CreateWorkerSession\n"
        "client <- session OK\n");
}

TEST_CASE("a graph that names a task that has ended is told so") {
  CHECK(
      run("tasks a b\n"
          "down b\n"
          "ended b 17\n"
          "graph x = Const(1) @ /job:b/replica:0/task:0\n"
          "create\n")
          .find("(/job:b/replica:0/task:0 had ended when this session began, so it takes no part; "
                "start it again and make a new session)") != std::string::npos);
}

TEST_CASE("a task that ends well between its answer and the session takes no part") {
  CHECK(run("tasks a b\n"
            "hold b CreateWorkerSession\n"
            "graph x = VariableV2(dtype=float, shape=[])\n"
            "create\n"
            "ended b 17\n"
            "answer b CreateWorkerSession UNAVAILABLE gone\n"
            "close\n") ==
        "master -> a CreateWorkerSession\n"
        "master -> b CreateWorkerSession\n"
        "client <- session OK\n"
        "master -> a DeleteWorkerSession\n"
        "client <- closed OK\n");
  CHECK(run("tasks a b\n"
            "hold b CreateWorkerSession\n"
            "create\n"
            "answer b CreateWorkerSession UNAVAILABLE gone\n")
            .find("client <- session UNAVAILABLE") != std::string::npos);
}

TEST_CASE("a task that ends tells those that its sessions had to do with, or all if it had none") {
  CHECK(run("tasks a b c\n"
            "farewell\n") ==
        "master -> b Farewell of /job:a/replica:0/task:0\n"
        "master -> c Farewell of /job:a/replica:0/task:0\n"
        "client <- farewell OK\n");
  CHECK(run("tasks a b c d\n"
            "create /job:b /job:c\n"
            "ended c 17\n"
            "farewell\n") ==
        "master -> a CreateWorkerSession\n"
        "master -> b CreateWorkerSession\n"
        "master -> c CreateWorkerSession\n"
        "client <- session OK\n"
        "master -> b Farewell of /job:a/replica:0/task:0\n"
        "client <- farewell OK\n");
}

}  // namespace
}  // namespace millrace

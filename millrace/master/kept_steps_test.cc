// Which steps and callables a session keeps, and what its workers hear of it: transcripts, see
// play.h for the language.
#include "millrace/master/testing/play.h"

namespace millrace {
namespace {

using testing::run;

TEST_CASE("of a session's steps so many are kept; what goes is forgotten at the workers") {
  CHECK(run("tasks a b\n"
            "keep 1\n"
            "graph x = VariableV2(dtype=float, shape=[]) @ /job:b\n"
            "graph y = Neg(x) @ /job:b\n"
            "create\n"
            "run x:0\n"
            "answer b RunGraph OK 1\n"
            "run y:0\n"
            "answer b RunGraph OK -1\n"
            "run x:0\n"
            "answer b RunGraph OK 1\n"
            "close\n") ==
        "master -> a CreateWorkerSession\n"
        "master -> b CreateWorkerSession\n"
        "client <- session OK\n"
        "master -> b RegisterGraph nodes=2\n"
        "master -> b RunGraph b1 step=1 receive=1\n"
        "client <- step OK float[] 1\n"
        "master -> b CleanupGraph step=1\n"
        "master -> b RegisterGraph nodes=3\n"
        "master -> b DeregisterGraph b1\n"
        "master -> b RunGraph b2 step=2 receive=1\n"
        "client <- step OK float[] -1\n"
        "master -> b CleanupGraph step=2\n"
        "master -> b RegisterGraph nodes=2\n"
        "master -> b DeregisterGraph b2\n"
        "master -> b RunGraph b3 step=3 receive=1\n"
        "client <- step OK float[] 1\n"
        "master -> b CleanupGraph step=3\n"
        "master -> a DeleteWorkerSession\n"
        "master -> b DeleteWorkerSession\n"
        "client <- closed OK\n");
}

TEST_CASE("a step that runs is forgotten only when it has ended") {
  CHECK(run("tasks a\n"
            "keep 1\n"
            "graph x = VariableV2(dtype=float, shape=[])\n"
            "graph y = Neg(x)\n"
            "create\n"
            "run x:0\n"
            "run y:0\n"
            "answer a RunGraph OK 1\n")
            .ends_with("master -> a RunGraph a1 step=1 receive=1\n"
                       "master -> a RegisterGraph nodes=3\n"
                       "master -> a RunGraph a2 step=2 receive=1\n"
                       "client <- step OK float[] 1\n"
                       "master -> a DeregisterGraph a1\n"));
}

TEST_CASE("the least recently used callable lets go of its step, and makes it anew when called") {
  CHECK(run("tasks a\n"
            "keep 1\n"
            "graph f = Placeholder(dtype=float)\n"
            "graph y = Neg(f)\n"
            "graph z = Neg(y)\n"
            "create\n"
            "call f:0=4 -> y:0\n"
            "answer a RunGraph OK -4\n"
            "call f:0=4 -> z:0\n"
            "answer a RunGraph OK 4\n"
            "again 1 f:0=5\n"
            "answer a RunGraph OK -5\n"
            "again 1 f:0=6\n"
            "answer a RunGraph OK -6\n") ==
        "master -> a CreateWorkerSession\n"
        "client <- session OK\n"
        "master -> a RegisterGraph nodes=3\n"
        "client <- callable OK\n"
        "master -> a RunGraph a1 step=1 send=float[] 4 receive=1\n"
        "client <- values OK float[] -4\n"
        "master -> a RegisterGraph nodes=4\n"
        "master -> a DeregisterGraph a1\n"
        "client <- callable OK\n"
        "master -> a RunGraph a2 step=2 send=float[] 4 receive=1\n"
        "client <- values OK float[] 4\n"
        "master -> a RegisterGraph nodes=3\n"
        "master -> a DeregisterGraph a2\n"
        "master -> a RunGraph a3 step=3 send=float[] 5 receive=1\n"
        "client <- values OK float[] -5\n"
        "master -> a RunGraph a3 step=4 send=float[] 6 receive=1\n"
        "client <- values OK float[] -6\n");
}

TEST_CASE("a callable that was released can't be called, and one that was never made neither") {
  CHECK(run("tasks a\n"
            "graph f = Placeholder(dtype=float)\n"
            "graph y = Neg(f)\n"
            "create\n"
            "call f:0=4 -> y:0\n"
            "answer a RunGraph OK -4\n"
            "release 1\n"
            "again 1 f:0=4\n"
            "release 1\n"
            "again 2 f:0=4\n")
            .ends_with("client <- released OK\n"
                       "client <- values INVALID_ARGUMENT: Attempted to run callable after handle "
                       "was released: 1\n"
                       "client <- released OK\n"
                       "client <- values INVALID_ARGUMENT: No such callable handle: 2\n"));
}

}  // namespace
}  // namespace millrace

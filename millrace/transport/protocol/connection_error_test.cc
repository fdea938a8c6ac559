#include "millrace/transport/protocol/connection_error.h"

#include <string>

#include <doctest/doctest.h>

#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {
namespace {

using Origin = CallFailure::Origin;

const Peer kPeer{"/job:ps/replica:0/task:2", "ps2:2222"};

std::string explained(Status status, Origin origin = Origin::connection) {
  return explain_failure(kPeer, worker_method::kRunGraph, {std::move(status), origin}).to_string();
}

TEST_CASE("an error of the connection names the task, the address, the method and the reason") {
  CHECK(explained(
            unavailable("failed to connect to all addresses; last error: Connection refused")) ==
        "UNAVAILABLE: /job:ps/replica:0/task:2 at ps2:2222 can't be called (RunGraph): nothing "
        "listens "
        "there (connection refused); is the task running, and on that port? [failed to connect to "
        "all "
        "addresses; last error: Connection refused]");
  CHECK(explained(unavailable("something new")) ==
        "UNAVAILABLE: /job:ps/replica:0/task:2 at ps2:2222 can't be called (RunGraph): something "
        "new");
  CHECK(explained(error(Code::unknown, "Stream removed")).starts_with("UNAVAILABLE: "));
  CHECK(
      explained(error(Code::deadline_exceeded, "Deadline Exceeded")) ==
      "DEADLINE_EXCEEDED: /job:ps/replica:0/task:2 at ps2:2222 did not answer RunGraph before the "
      "deadline");
}

TEST_CASE(
    "a connection that breaks under a call is told as such, whoever is said to have said it") {
  CHECK(explained(unavailable("Socket closed"), Origin::peer) ==
        "UNAVAILABLE: /job:ps/replica:0/task:2 at ps2:2222 can't be called (RunGraph): the "
        "connection broke; the task has probably ended or been restarted [Socket closed]");
}

TEST_CASE(
    "a connection that gRPC cut for want of an answer is told without gRPC's own words for it") {
  for (const Origin origin : {Origin::peer, Origin::connection}) {
    CHECK(explained(unavailable("keepalive watchdog timeout"), origin) ==
          "UNAVAILABLE: /job:ps/replica:0/task:2 at ps2:2222 can't be called (RunGraph): it does "
          "not answer any more, although the connection stands; it is frozen, overloaded or cut "
          "off from here");
  }
}

TEST_CASE("an error that the peer sent keeps its words") {
  CHECK(explained(out_of_range("end of input"), Origin::peer) == "OUT_OF_RANGE: end of input");
  CHECK(explained(unavailable("Socket closed, says the kernel"), Origin::peer) ==
        "UNAVAILABLE: Socket closed, says the kernel");
  CHECK(explained(unimplemented("nothing here"), Origin::peer) ==
        "UNIMPLEMENTED: nothing here (/job:ps/replica:0/task:2 at ps2:2222 does not know "
        "/tensorflow.WorkerService/RunGraph; is it a TensorFlow or Millrace task?)");
}

}  // namespace
}  // namespace millrace::transport

// Partial steps as transcripts: what happens, and what the worker does about it.
//
//   pieces 2             the step has two pieces
//   leg 1                a leg comes that asks for one value | last 0: the last leg
//   begun 1              the first leg has asked for all of them
//   value 1 OK           a value of the first leg has come, or its error
//   unsent 1 ABORTED why what the first leg brought could not be left
//   piece OK             a piece has run
//   stop CANCELLED why
#include "millrace/worker/partial_step_book.h"

#include <optional>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/testing/script.h"
#include "millrace/base/testing/spoken_status.h"

namespace millrace {
namespace {

class PartialScript {
 public:
  std::string run(const std::string& script) {
    testing::each_line(script, [this](const std::string& verb, std::istringstream& words) {
      happen(verb, words);
    });
    return out_;
  }

 private:
  void happen(const std::string& verb, std::istringstream& words) {
    size_t number = 0;
    if (verb == "stop") return perform(book_->on_stop(testing::spoken_status(words)));
    if (verb == "piece") return perform(book_->on_piece_ended(testing::spoken_status(words)));
    words >> number;
    if (verb == "pieces") {
      book_.emplace(number);
    } else if (verb == "leg") {
      book_->on_leg(number, PartialStepBook::Kind::further);
    } else if (verb == "last") {
      book_->on_leg(number, PartialStepBook::Kind::last);
    } else if (verb == "begun") {
      perform(book_->on_leg_begun(number));
    } else if (verb == "value") {
      perform(book_->on_received(number, testing::spoken_status(words)));
    } else if (verb == "unsent") {
      perform(book_->on_send_failed(number, testing::spoken_status(words)));
    } else {
      FAIL("no such verb: " << verb);
    }
  }
  void perform(const PartialStepBook::Actions& actions) {
    if (!actions.cancel.ok()) say("cancel: ", actions.cancel.to_string());
    if (actions.has_ended) say("the step has ended");
    if (actions.abort_receives) say("abort what is waited for");
    for (const auto& answer : actions.answers)
      say("leg ", answer.leg, " <- ", answer.status.to_string());
  }
  template <class... Parts>
  void say(const Parts&... parts) {
    str_append(&out_, parts..., "\n");
  }

  std::optional<PartialStepBook> book_;
  std::string out_;
};

std::string partial(const std::string& script) { return PartialScript().run(script); }

TEST_CASE("a leg is answered with its last value, the last leg with the end of the step, too") {
  CHECK(partial(R"(
    pieces 2
    leg 1
    begun 1
    value 1 OK
    last 1
    begun 2
    piece OK
    value 2 OK
    piece OK
    )") ==
        "leg 1 <- OK\n"
        "the step has ended\n"
        "leg 2 <- OK\n");
}

TEST_CASE("a leg whose values are there before it has asked for all waits for its own beginning") {
  CHECK(partial("pieces 1\nleg 2\nvalue 1 OK\nvalue 1 OK\nbegun 1") == "leg 1 <- OK\n");
}

TEST_CASE("a leg that fails ends the step, whose own cause it is answered with") {
  CHECK(partial(R"(
    pieces 2
    leg 1
    begun 1
    value 1 ~ABORTED the step was aborted
    piece INVALID_ARGUMENT bad shape
    piece ~CANCELLED as told
    )") ==
        "cancel: ABORTED: the step was aborted\n"
        "the step has ended\n"
        "leg 1 <- INVALID_ARGUMENT: bad shape\n");
}

TEST_CASE("what could not be sent is the leg's error if the step has no other") {
  CHECK(partial(R"(
    pieces 1
    leg 0
    unsent 1 INVALID_ARGUMENT sent twice
    begun 1
    piece OK
    )") ==
        "cancel: INVALID_ARGUMENT: sent twice\n"
        "the step has ended\n"
        "leg 1 <- INVALID_ARGUMENT: sent twice\n");
}

TEST_CASE("legs hear why a step was stopped, not that its kernels were cancelled") {
  CHECK(partial(R"(
    pieces 1
    leg 1
    begun 1
    stop ABORTED the session was closed
    stop CANCELLED and again
    piece ~CANCELLED as told
    value 1 ~ABORTED the step is over
    )") ==
        "cancel: ABORTED: the session was closed\n"
        "cancel: CANCELLED: and again\n"
        "the step has ended\n"
        "abort what is waited for\n"
        "leg 1 <- ABORTED: the session was closed\n");
}

TEST_CASE("what nobody is left to send is not waited for, but first all of it is asked for") {
  CHECK(partial(R"(
    pieces 1
    last 2
    value 1 OK
    piece OK
    begun 1
    value 1 INTERNAL not sent
    )") ==
        "the step has ended\n"
        "abort what is waited for\n"
        "leg 1 <- INTERNAL: not sent\n");
}

TEST_CASE("a leg that comes when everything has run takes what is there") {
  CHECK(partial("pieces 1\npiece OK\nlast 1\nvalue 1 OK\nbegun 1") ==
        "the step has ended\n"
        "leg 1 <- OK\n");
}

TEST_CASE("legs that overlap are answered each for itself, and fail together") {
  CHECK(partial(R"(
    pieces 1
    leg 1
    leg 1
    begun 1
    begun 2
    value 2 OK
    leg 1
    begun 3
    stop UNAVAILABLE a peer is gone
    piece ~CANCELLED as told
    value 1 ~ABORTED over
    value 3 ~ABORTED over
    )") ==
        "leg 2 <- OK\n"
        "cancel: UNAVAILABLE: a peer is gone\n"
        "the step has ended\n"
        "abort what is waited for\n"
        "leg 1 <- UNAVAILABLE: a peer is gone\n"
        "leg 3 <- UNAVAILABLE: a peer is gone\n");
}

TEST_CASE("a leg that begins in a step that was stopped hears why, even if it asks for nothing") {
  CHECK(partial(R"(
    pieces 1
    leg 0
    stop ~DEADLINE_EXCEEDED its time has passed
    begun 1
    piece ~DEADLINE_EXCEEDED its time has passed, in g
    )") ==
        "cancel: DEADLINE_EXCEEDED: its time has passed\n"
        "the step has ended\n"
        "leg 1 <- DEADLINE_EXCEEDED: its time has passed, in g\n");
}

}  // namespace
}  // namespace millrace

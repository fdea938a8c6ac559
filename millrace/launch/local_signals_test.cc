#include "millrace/launch/local_signals.h"

#include <unistd.h>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

using namespace std::string_view_literals;

TEST_CASE("the sender of a signal is a process with its command, one outside, or nobody") {
  CHECK(sender_text(SI_USER, 7, "sh\0-c\0kill 8\0"sv) == "process 7 (sh -c kill 8)");
  CHECK(sender_text(SI_QUEUE, 7, "sh\0"sv) == "process 7 (sh)");
  CHECK(sender_text(SI_TKILL, 7, "") == "process 7, which has ended");
  CHECK(sender_text(SI_USER, 0, "").find("outside") != std::string::npos);
  CHECK(sender_text(SI_KERNEL, 0, "") == "");
  CHECK(sender_text(SI_TIMER, 3, "sh\0"sv) == "");
}

TEST_CASE("a command is one short line, whatever is in it") {
  CHECK(sender_text(SI_USER, 7, "a\nb\x1b[2Jc\0"sv) == "process 7 (a b [2Jc)");
  CHECK(sender_text(SI_USER, 7, std::string(500, 'x')) ==
        str_cat("process 7 (", std::string(120, 'x'), "...)"));
}

TEST_CASE("a signal that is taken tells who sent it") {
  SignalWatch signals;
  CHECK(!signals.take());
  REQUIRE(kill(getpid(), SIGTERM) == 0);
  const auto signal = signals.take();
  REQUIRE(signal);
  CHECK(signal->number == SIGTERM);
  CHECK(to_text(*signal).starts_with(
      str_cat("SIGTERM (signal 15), sent by process ", getpid(), " (")));
  CHECK(signal->sender.find("launch") != std::string::npos);
  CHECK(to_text(TakenSignal{SIGINT, ""}) == "SIGINT (signal 2)");
}

}  // namespace
}  // namespace millrace

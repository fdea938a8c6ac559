#include "millrace/launch/signal_words.h"

#include <csignal>

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("a signal is known by its name, with SIG before it or without") {
  CHECK(signal_number("USR1") == SIGUSR1);
  CHECK(signal_number("SIGTERM") == SIGTERM);
  for (const char* name : {"", "SIG", "usr1", "KILL", "STOP", "10"}) CHECK(!signal_number(name));
}

TEST_CASE("a signal goes along as a line, and no other line is one") {
  CHECK(signal_line(SIGUSR1) == "signal 10\n");
  CHECK(parse_signal_line("signal 10") == SIGUSR1);
  for (const char* line : {"", "signal", "signal ", "signal 9", "signal 10x", "signal -1", "end"})
    CHECK(!parse_signal_line(line));
}

}  // namespace
}  // namespace millrace

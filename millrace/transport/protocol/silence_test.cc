#include "millrace/transport/protocol/silence.h"

#include <string>

#include <doctest/doctest.h>

#include "millrace/base/status.h"

namespace millrace::transport {
namespace {

// What is done after each round; a round is '.' if nothing was heard, 'h' if something was.
std::string story(std::string_view rounds) {
  Silence silence;
  std::string told;
  for (const char round : rounds) {
    const auto action = silence.on_round(round == 'h' ? Silence::Sign::heard : Silence::Sign::none);
    constexpr const char* kNames[] = {"-", "ask", "warn", "give_up"};
    str_append(&told, told.empty() ? "" : " ", kNames[static_cast<int>(action)]);
  }
  return told;
}

TEST_CASE("a peer that stays silent is asked, then warned of, then given up") {
  CHECK(story("........") == "ask warn - - - give_up give_up give_up");
}

TEST_CASE("a peer that answers the question is asked again when it is silent again") {
  CHECK(story(".h.h.h") == "ask - ask - ask -");
  CHECK(story(".....h......") == "ask warn - - - - ask warn - - - give_up");
}

TEST_CASE("a peer that is heard of all the time is asked nothing") {
  CHECK(story("hhhh") == "- - - -");
}

TEST_CASE("the rounds make up the limit, and the warning comes after a third of it") {
  using std::chrono::seconds;
  CHECK(Silence::pause(seconds(15)) * Silence::kGiveUpAfter == seconds(15));
  CHECK(Silence::pause(seconds(15)) * Silence::kWarnAfter == seconds(5));
}

}  // namespace
}  // namespace millrace::transport

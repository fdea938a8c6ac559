#include "millrace/transport/protocol/status_codec.h"

#include <doctest/doctest.h>

namespace millrace::transport {
namespace {

std::string plain_hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    text += "0123456789abcdef"[c & 15];
  }
  return text;
}

TEST_CASE("an error is its code and message, and needs no details") {
  const WireStatus wire = to_wire_status(not_found("no session"));
  CHECK(wire.code == static_cast<int>(Code::not_found));
  CHECK(wire.message == "no session");
  CHECK(wire.details.empty());
  CHECK(from_wire_status(wire) == not_found("no session"));
  CHECK(from_wire_status(to_wire_status(Status())).ok());
}

TEST_CASE("a consequence has TensorFlow's bytes") {
  const WireStatus wire = to_wire_status(cancelled("x").as_consequence());
  CHECK(plain_hex(wire.details) ==
        "0a300a2c" + plain_hex("type.googleapis.com/tensorflow.DerivedStatus") + "1200");
  CHECK(from_wire_status(wire).is_consequence());
}

TEST_CASE("text that goes into a message is UTF-8, whatever bytes an error tells of") {
  for (const char* whole :
       {"", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    CHECK(as_utf8(whole) == whole);
  const std::string one = "\xef\xbf\xbd", two = one + one, three = two + one;
  CHECK(as_utf8("token \xb0!") == "token " + one + "!");
  CHECK(as_utf8("cut \xe2\x82") == "cut " + two);
  CHECK(as_utf8("\xc0\xaf") == two);                  // longer than it need be
  CHECK(as_utf8("\xed\xa0\x80") == three);            // half of a pair
  CHECK(as_utf8("\xf4\x90\x80\x80") == three + one);  // beyond the last one
  CHECK(as_utf8("\xff") == one);
}

TEST_CASE("a long message is cut where TensorFlow cuts it") {
  std::string text;
  while (text.size() < 5000) text += "mm ";
  const WireStatus wire = to_wire_status(internal(text));
  CHECK(wire.message == text.substr(0, 3072) + " ... [truncated]");
  CHECK(to_wire_status(internal(text.substr(0, 3072))).message == text.substr(0, 3072));
}

TEST_CASE("a name of a hundred thousand bytes is cut, and what is said of it stays") {
  const std::string name = "begin" + std::string(100'000, 'x') + "end";
  const std::string told =
      to_wire_status(not_found("FetchOutputs node ", name, ": not found")).message;
  CHECK(told == "FetchOutputs node begin" + std::string(95, 'x') + "...[99809 bytes more]..." +
                    std::string(96, 'x') + "end:" + " not found");
  CHECK(without_long_words("a\n\tb  " + std::string(512, 'c')) ==
        "a\n\tb  " + std::string(512, 'c'));
}

TEST_CASE("details that headers can't hold are left out, but not that it is a consequence") {
  const Status big = internal("x").with_payload("url", std::string(10'000, 'p'));
  CHECK(to_wire_status(big).details.empty());
  const Status back = from_wire_status(to_wire_status(big.as_consequence()));
  CHECK(back.is_consequence());
  CHECK(back.payloads().count("url") == 0);
}

TEST_CASE("numbers that are no code are UNKNOWN, details that are none are ignored") {
  CHECK(from_wire_status({99, "odd", ""}) == Status(Code::unknown, "odd"));
  CHECK(from_wire_status({static_cast<int>(Code::aborted), "a", "\xff\xff garbage"}) ==
        aborted("a"));
}

TEST_CASE("the prefix of older TensorFlows marks a consequence") {
  CHECK(from_wire_status({static_cast<int>(Code::cancelled), "[_Derived_]Step was cancelled", ""})
            .is_consequence());
}

TEST_CASE("UNAVAILABLE is hidden as ABORTED and comes back") {
  const Status error = unavailable("ps:0 is gone").with_payload("url", "p").as_consequence();
  const Status hidden = from_wire_status(to_wire_status(hide_unavailable(error)));
  CHECK(hidden.code() == Code::aborted);
  CHECK(hidden.message() == "ps:0 is gone");
  const Status shown = show_unavailable(hidden);
  CHECK(shown.code() == Code::unavailable);
  CHECK(shown.is_consequence());
  CHECK(shown.payloads().find("url")->second == "p");
  CHECK(show_unavailable(aborted("x")) == aborted("x"));
  CHECK(hide_unavailable(aborted("x")) == aborted("x"));
}

}  // namespace
}  // namespace millrace::transport

#include "millrace/format/hadoop_credentials.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

using namespace std::string_literals;

// A text of fewer than 128 bytes, with its length.
std::string part(const std::string& text) {
  return std::string(1, static_cast<char>(text.size())) + text;
}

std::string token(const std::string& kind) {
  return part("alias") + part("who") + part("secret") + part(kind) + part("rm:8030");
}

TEST_CASE("tokens are read in the order in which they stand") {
  const auto tokens =
      parse_credentials("HDTS\0\x02"s + token("YARN_AM_RM_TOKEN") + token("OTHER") + "\0"s).value();
  REQUIRE(tokens.size() == 2);
  CHECK(tokens[0].kind == "YARN_AM_RM_TOKEN");
  CHECK(tokens[0].identifier == "who");
  CHECK(tokens[0].password == "secret");
  CHECK(tokens[0].service == "rm:8030");
  CHECK(tokens[1].kind == "OTHER");
}

TEST_CASE("a length beyond 127 stands in bytes of its own") {
  const std::string identifier(300, 'x');
  // -114: two bytes follow.
  const std::string bytes = "HDTS\0\x01"s + part("alias") + "\x8E\x01\x2C"s + identifier +
                            part("secret") + part("KIND") + part("");
  CHECK(parse_credentials(bytes).value()[0].identifier == identifier);
}

TEST_CASE("tokens that are written are read as they were") {
  const std::vector<HadoopToken> tokens = {
      {.identifier = std::string(70000, 'i'), .password = "p", .kind = "K", .service = ""},
      {.identifier = "who", .password = "secret", .kind = "OTHER", .service = "rm:8030"}};
  const auto read = parse_credentials(write_credentials(tokens)).value();
  REQUIRE(read.size() == 2);
  CHECK(read[0].identifier == tokens[0].identifier);
  CHECK(read[1].service == "rm:8030");
  CHECK(parse_hadoop_token(write_hadoop_token(tokens[1]))->password == "secret");
  // Byte by byte: two tokens' count, an alias, the parts, and no other secrets.
  CHECK(write_credentials({tokens[1]}) == "HDTS\0\x01"s + part("OTHER rm:8030") + part("who") +
                                              part("secret") + part("OTHER") + part("rm:8030") +
                                              "\0"s);
}

TEST_CASE("what is cut off anywhere is no file of tokens") {
  const std::string whole = "HDTS\0\x01"s + token("KIND");
  for (size_t size = 0; size < whole.size(); ++size)
    CHECK(parse_credentials(whole.substr(0, size)).status().code() == Code::data_loss);
  CHECK(parse_credentials(whole).ok());
}

TEST_CASE("a form that is not known, and lengths below zero, are refused") {
  CHECK(parse_credentials("HDTS\x01\x00"s).status().code() == Code::unimplemented);
  CHECK(parse_credentials("HDTS\0\xFF"s).status().code() == Code::data_loss);
  CHECK(parse_credentials("HDTS\0\x80\x00"s).status().code() == Code::data_loss);
}

}  // namespace
}  // namespace millrace

#include "millrace/launch/yarn/sasl_layer.h"

#include <vector>

#include "absl/strings/escaping.h"
#include <doctest/doctest.h>

#include "millrace/launch/yarn/sasl_digest.h"

namespace millrace {
namespace {

using Side = SaslLayer::Side;

SaslTerms agreed(SaslProtection protection) {
  return {.protection = protection, .secret = "0123456789abcdef"};
}

SaslLayer layer(SaslProtection protection, Side side) {
  return SaslLayer::create(agreed(protection), side).value();
}

// Java's provider is the other side of all logins in Hadoop: what it agreed upon with itself, by
// the user d2hv and the password c2VjcmV0.
SaslTerms terms_of_java(SaslProtection protection) {
  const bool is_private = protection == SaslProtection::privacy;
  return answer_digest(
             is_private
                 ? R"(realm="default",nonce="D6x7uMmFVehnffVPSQr4+djrHsq+P5yPc90i8P6M",qop="auth-conf",cipher="3des")"
                 : R"(realm="default",nonce="gYCLPy8bN/dX9Ac2vIoLfs1Lrfp2ITZ/xTSncdtQ",qop="auth-int")",
             {.user = "d2hv",
              .password = "c2VjcmV0",
              .uri = "/default",
              .nonce = is_private ? "d7f9fllHqu+0tRBnuU7YuWFUQPY078BZjjlAdEUv"
                                  : "ZjV+gQpkUbxyuB486DQ4JmkNpwkyjPF4qvQqlJWj"})
      .value()
      .terms;
}

struct Recorded {
  const char* message;
  const char* hex;
};

void check_recorded(SaslProtection protection, const std::vector<Recorded>& of_client,
                    const std::vector<Recorded>& of_server) {
  SaslLayer client = SaslLayer::create(terms_of_java(protection), Side::client).value();
  for (const auto& [message, hex] : of_client)
    CHECK(absl::BytesToHexString(client.wrap(message).value()) == hex);
  for (const auto& [message, hex] : of_server)
    CHECK(client.unwrap(absl::HexStringToBytes(hex)).value() == message);
}

TEST_CASE("a message whose integrity is proved has the bytes of Java's provider, both ways") {
  check_recorded(
      SaslProtection::integrity,
      {{"hello", "68656c6c6f9f9b7c3e07586d99159e000100000000"},
       {"twenty-two bytes of it",
        "7477656e74792d74776f206279746573206f66206974a2801f376676d9eb03b6000100000001"},
       {"xxxxxxxxxxxxxx", "7878787878787878787878787878de22b6daa3e30e9b00b2000100000002"}},
      {{"welcome", "77656c636f6d656eec199baa0f9ced1aca000100000000"},
       {"in two", "696e2074776f912817fd8ed073cc0290000100000001"},
       {"xxxxxxxxxxxxxx", "78787878787878787878787878787b7e6b64dcb209bd1c2d000100000002"}});
}

// The third is a whole block longer, which is all padding.
TEST_CASE("an encrypted message has the bytes of Java's provider, both ways, one after another") {
  check_recorded(
      SaslProtection::privacy,
      {{"hello", "a5b01de967d8992ce0b3683ff49a706a000100000000"},
       {"twenty-two bytes of it",
        "658694f6e09b864e0463dcd4bd369f7ab0b92efada6a4dfbf2be0103bcb0a14a00bdba96d0b0d31a"
        "000100000001"},
       {"xxxxxxxxxxxxxx",
        "4f7c7057938dd656049754e1eeded4a9633226d0e78b0b8af316e67c7a72ded1000100000002"}},
      {{"welcome", "659431a654302ac077804e7846e125cf397cfc0740042e5e000100000000"},
       {"in two", "60ae607f87f4c03a92e54108bf32749fc164e1072b043f79000100000001"},
       {"xxxxxxxxxxxxxx",
        "2570d996c1a9af2358470c88c6fdff7a99f5c8844816d6dad221ce22088dcdca000100000002"}});
}

TEST_CASE("a message of which any bit was changed, or any end is missing, is not believed") {
  for (const SaslProtection protection : {SaslProtection::integrity, SaslProtection::privacy}) {
    const std::string sealed = layer(protection, Side::server).wrap("ten of us?").value();
    for (size_t bit = 0; bit < sealed.size() * 8; ++bit) {
      std::string changed = sealed;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
      CAPTURE(bit);
      CHECK(layer(protection, Side::client).unwrap(changed).status().code() == Code::data_loss);
    }
    for (size_t size = 0; size < sealed.size(); ++size)
      CHECK(layer(protection, Side::client).unwrap(sealed.substr(0, size)).status().code() ==
            Code::data_loss);
  }
}

TEST_CASE("a message that comes twice or out of turn is told by its number") {
  SaslLayer server = layer(SaslProtection::integrity, Side::server);
  SaslLayer client = layer(SaslProtection::integrity, Side::client);
  const std::string first = server.wrap("first").value();
  const std::string second = server.wrap("second").value();
  CHECK(layer(SaslProtection::integrity, Side::client).unwrap(second).status().code() ==
        Code::data_loss);
  CHECK(client.unwrap(first).value() == "first");
  const Status again = client.unwrap(first).status();
  CHECK(again.code() == Code::data_loss);
  CHECK(again.message() ==
        "message 1 of the server has another's number: one came twice, or out of turn");
}

TEST_CASE("a message that one side sent is none that it could have got") {
  SaslLayer client = layer(SaslProtection::integrity, Side::client);
  CHECK(client.unwrap(client.wrap("mirror").value()).status().code() == Code::data_loss);
}

TEST_CASE("a server that takes short messages is sent short ones, and one of none no message") {
  SaslTerms terms = agreed(SaslProtection::privacy);
  CHECK(SaslLayer::create(terms, Side::client).value().most_to_wrap() == 65510);
  terms.most = 64;
  SaslLayer narrow = SaslLayer::create(terms, Side::client).value();
  CHECK(narrow.wrap(std::string(narrow.most_to_wrap(), 'x')).value().size() <= 64);
  terms.most = 26;
  CHECK(SaslLayer::create(terms, Side::client).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace

#include "millrace/launch/yarn/sasl_digest.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

constexpr const char* kChallenge =
    R"(realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8)";
const DigestLogin kLogin = {.user = "chris",
                            .password = "secret",
                            .uri = "imap/elwood.innosoft.com",
                            .nonce = "OA6MHXh6VqTrRk"};

TEST_CASE("the proofs are those of the example in RFC 2831") {
  const DigestResponse response = answer_digest(kChallenge, kLogin).value();
  CHECK(response.text ==
        R"(charset=utf-8,username="chris",realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",)"
        R"(nc=00000001,cnonce="OA6MHXh6VqTrRk",digest-uri="imap/elwood.innosoft.com",)"
        "maxbuf=65536,response=d388dad90d4bbd760a152321f2143af7,qop=auth");
  CHECK(response.expected == "rspauth=ea40f60335c427b5527b84dbabcdfffd");
}

TEST_CASE("a server that lets one choose is taken at its plainest") {
  CHECK(answer_digest(R"(nonce="n",qop="auth-conf,auth")", kLogin).ok());
  CHECK(answer_digest(R"(nonce="n")", kLogin).ok());
}

TEST_CASE("a server that wants every message protected is told from one that makes no sense") {
  const Status strict = answer_digest(R"(nonce="n",qop="auth-conf")", kLogin).status();
  CHECK(strict.code() == Code::failed_precondition);
  CHECK(strict.message().find("hadoop.rpc.protection") != std::string::npos);
  for (const char* nonsense : {"", "nonce", R"(realm="r")", R"(nonce="n)"})
    CHECK(answer_digest(nonsense, kLogin).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace

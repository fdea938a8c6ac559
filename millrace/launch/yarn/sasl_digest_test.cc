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

// What Java's provider said to itself, with the user d2hv and the password c2VjcmV0.
TEST_CASE("the proofs of a server that wants messages protected are those of Java's provider") {
  const DigestResponse whole =
      answer_digest(R"(realm="default",nonce="gYCLPy8bN/dX9Ac2vIoLfs1Lrfp2ITZ/xTSncdtQ",)"
                    R"(qop="auth-int",charset=utf-8,algorithm=md5-sess)",
                    {.user = "d2hv",
                     .password = "c2VjcmV0",
                     .uri = "/default",
                     .nonce = "ZjV+gQpkUbxyuB486DQ4JmkNpwkyjPF4qvQqlJWj"})
          .value();
  CHECK(whole.text.ends_with("response=ebde4c18ca0f6c5f5a50018c83514435,qop=auth-int"));
  CHECK(whole.expected == "rspauth=8fc4fb0927ec5189f90acd1f605f363e");
  CHECK(whole.terms.protection == SaslProtection::integrity);
  CHECK(whole.terms.most == 65536);
  const DigestResponse secret =
      answer_digest(R"(realm="default",nonce="D6x7uMmFVehnffVPSQr4+djrHsq+P5yPc90i8P6M",)"
                    R"(qop="auth-conf",charset=utf-8,cipher="3des,rc4,des,rc4-56,rc4-40",)"
                    R"(algorithm=md5-sess)",
                    {.user = "d2hv",
                     .password = "c2VjcmV0",
                     .uri = "/default",
                     .nonce = "d7f9fllHqu+0tRBnuU7YuWFUQPY078BZjjlAdEUv"})
          .value();
  CHECK(secret.text.ends_with(
      R"(response=5166175ec5956b0b0d548cf709f51da0,qop=auth-conf,cipher="3des")"));
  CHECK(secret.expected == "rspauth=81d453cd69dd914d2b9bf92332a798c5");
  CHECK(secret.terms.protection == SaslProtection::privacy);
}

TEST_CASE("of several protections the server's first is taken that both sides can") {
  auto chosen = [](const char* challenge) {
    return answer_digest(challenge, kLogin).value().terms.protection;
  };
  CHECK(chosen(R"(nonce="n",qop="auth,auth-conf",cipher="3des")") == SaslProtection::none);
  CHECK(chosen(R"(nonce="n",qop="auth-conf, auth",cipher="rc4,3des")") == SaslProtection::privacy);
  CHECK(chosen(R"(nonce="n",qop="auth-conf,auth-int",cipher="rc4")") == SaslProtection::integrity);
  CHECK(chosen(R"(nonce="n",qop="auth-new,auth")") == SaslProtection::none);
  CHECK(chosen(R"(nonce="n")") == SaslProtection::none);
  CHECK(answer_digest(R"(nonce="n",maxbuf=1000)", kLogin).value().terms.most == 1000);
}

TEST_CASE("a server with a protection that is not spoken is told from one that makes no sense") {
  const Status strict =
      answer_digest(R"(nonce="n",qop="auth-conf",cipher="rc4,des")", kLogin).status();
  CHECK(strict.code() == Code::failed_precondition);
  CHECK(strict.message().find("hadoop.rpc.protection") != std::string::npos);
  CHECK(strict.message().find("auth-conf; ciphers: rc4,des") != std::string::npos);
  CHECK(answer_digest(R"(nonce="n",maxbuf=much)", kLogin).status().code() ==
        Code::invalid_argument);
  for (const char* nonsense : {"", "nonce", R"(realm="r")", R"(nonce="n)"})
    CHECK(answer_digest(nonsense, kLogin).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace

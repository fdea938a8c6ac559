#include "millrace/io/remote/hdfs_tokens.h"

#include <doctest/doctest.h>

#include "millrace/io/remote/testing/scripted_http.h"

namespace millrace::remote {
namespace {

const HadoopToken kToken = {
    .identifier = "id", .password = "pw", .kind = "WEBHDFS delegation", .service = "1.2.3.4:9870"};

struct TokenLab {
  testing::ScriptedHttp http;
  SeededRandom random{1};
  Retries retries{Clock::real(), random, {.tries = 1}};
  HdfsStore store{{.user = "ada", .token = {}}, http, retries};
  HdfsPlace place = store.place_of("hdfs://name:8020/jobs").value();

  void answer_token(const HadoopToken& token) {
    http.answer(200, R"({"Token":{"urlString":")" + hdfs_token_text(token) + R"("}})");
  }
};

TEST_CASE("a token is asked for with who may prolong it, by who proves who they are") {
  TokenLab lab;
  lab.http.answer(401, "", {{"www-authenticate", "Negotiate"}});
  lab.answer_token(kToken);
  const auto token = get_hdfs_token(lab.store, lab.place, "rm/host@REALM").value();
  REQUIRE(token.has_value());
  CHECK(token->identifier == "id");
  CHECK(token->password == "pw");
  CHECK(token->service == "1.2.3.4:9870");
  // A name beside a proof would be compared with it.
  CHECK(lab.http.seen().at(1).line ==
        "GET http://name:9870/webhdfs/v1/jobs?op=GETDELEGATIONTOKEN&renewer=rm%2Fhost%40REALM");
}

TEST_CASE("where nobody has to prove anything there is no token") {
  TokenLab lab;
  lab.http.answer(200, R"({"Token":null})");
  CHECK_FALSE(get_hdfs_token(lab.store, lab.place, "").value().has_value());
  for (const char* nonsense : {"{}", "no", R"({"Token":{}})", R"({"Token":{"urlString":"*"}})",
                               R"({"Token":{"urlString":"AmlkAnB3"}})"}) {
    lab.http.answer(200, nonsense);
    CHECK(get_hdfs_token(lab.store, lab.place, "").status().code() == Code::data_loss);
  }
}

TEST_CASE("a token that is cancelled is in no message") {
  TokenLab lab;
  lab.http.answer(200, "");
  CHECK(cancel_hdfs_token(lab.store, lab.place, kToken).ok());
  CHECK(lab.http.seen().at(0).line.starts_with(
      "PUT http://name:9870/webhdfs/v1/jobs?op=CANCELDELEGATIONTOKEN&user.name=ada&token="));
  lab.http.answer(403, R"({"RemoteException":{"exception":"InvalidToken","message":"gone"}})");
  const Status refused = cancel_hdfs_token(lab.store, lab.place, kToken);
  CHECK_FALSE(refused.ok());
  CHECK(refused.message().find(hdfs_token_text(kToken)) == std::string::npos);
}

TEST_CASE("programs of Hadoop's find a token by the address that they know") {
  auto service = [](const char* path) {
    const HadoopToken token = hdfs_token_for(kToken, path, "1.2.3.4");
    return token.kind + ", " + token.service;
  };
  CHECK(service("hdfs://name:8020/jobs") == "HDFS_DELEGATION_TOKEN, 1.2.3.4:8020");
  CHECK(service("hdfs://name/jobs") == "HDFS_DELEGATION_TOKEN, 1.2.3.4:8020");
  CHECK(service("webhdfs://name/jobs") == "WEBHDFS delegation, 1.2.3.4:9870");
  CHECK(service("swebhdfs://name:1/jobs") == "SWEBHDFS delegation, 1.2.3.4:1");
}

}  // namespace
}  // namespace millrace::remote

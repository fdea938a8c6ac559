#include "millrace/launch/yarn/hadoop_rpc.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/format/wire_format.h"
#include "millrace/launch/yarn/sasl_digest.h"
#include "millrace/launch/yarn/testing/hadoop_server.h"

namespace millrace {
namespace {

using namespace std::string_literals;
using wire::put_bytes_field;
using wire::put_varint_field;

HadoopLogin login() {
  return {.protocol = "Protocol",
          .token = {.identifier = "who", .password = "secret"},
          .client_id = "0123456789abcdef",
          .nonce = "mine"};
}

DigestResponse proofs() {
  // "who" and "secret" in base64.
  return answer_digest(kServersOffer,
                       {.user = "d2hv", .password = "c2VjcmV0", .uri = "/default", .nonce = "mine"})
      .value();
}

HadoopConnection open_connection() {
  HadoopConnection connection(login());
  CHECK(connection.feed(negotiation()).ok());
  CHECK(connection.feed(success(proofs().expected)).ok());
  connection.take_output();
  return connection;
}

TEST_CASE("a connection begins with its version, and asks what logins there are") {
  HadoopConnection connection(login());
  CHECK(connection.has_output());
  // kind protobuf, final packet, call -33, no client, retry -1; then: negotiate
  CHECK(connection.take_output() == "hrpc\x09\x00\xDF"s + "\x00\x00\x00\x0E"s + "\x0A"s +
                                        "\x08\x02\x10\x00\x18\x41\x22\x00\x28\x01"s +
                                        "\x02\x10\x01"s);
  CHECK_FALSE(connection.has_output());
}

TEST_CASE("a token is shown by its digest, and calls go out when the server has proved itself") {
  HadoopConnection connection(login());
  connection.take_output();
  CHECK(connection.call("register", "REQUEST") == 0);
  CHECK(connection.take_output().empty());

  CHECK(connection.feed(negotiation()).value().empty());
  std::string expected;
  put_varint_field(&expected, 2, 2);
  put_bytes_field(&expected, 3, proofs().text);
  put_bytes_field(&expected, 4, auth("TOKEN", ""));
  CHECK(connection.take_output().ends_with(delimited(expected)));

  CHECK(connection.feed(success(proofs().expected)).value().empty());
  const std::string sent = connection.take_output();
  std::string context;
  put_bytes_field(&context, 3, "Protocol");
  CHECK(sent.find(delimited(context)) != std::string::npos);
  CHECK(sent.ends_with(delimited("\x0A\x08register\x12\x08Protocol\x18\x01"s) +
                       delimited("REQUEST")));
  CHECK(connection.call("again", "") == 1);
  CHECK(connection.has_output());
}

TEST_CASE("answers come with the numbers of their calls, however they are cut") {
  HadoopConnection connection = open_connection();
  const std::string bytes = answer(0, "FIRST") + answer(1, "");
  std::vector<HadoopConnection::Answer> answers;
  for (const char byte : bytes)
    for (auto& one : connection.feed(std::string(1, byte)).value()) answers.push_back(one);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].call == 0);
  CHECK(answers[0].body.value() == "FIRST");
  CHECK(answers[1].call == 1);
  CHECK(answers[1].body.value().empty());
}

TEST_CASE("an exception is the end of its call alone, and tells what it was in one line") {
  HadoopConnection connection = open_connection();
  const auto answers =
      connection
          .feed(refusal(0, 1, "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException",
                        "too much memory\n\tat org.apache.hadoop"))
          .value();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].body.status().code() == Code::invalid_argument);
  CHECK(answers[0].body.status().message() == "too much memory");
  CHECK(connection.feed(answer(1, "GOES ON")).value().size() == 1);
}

TEST_CASE("a server that refuses the token, or can't prove that it knows it, is not talked to") {
  HadoopConnection refused(login());
  CHECK(refused.feed(refusal(kLoginCall, 2, "javax.security.sasl.SaslException", "no such token"))
            .status()
            .code() == Code::unauthenticated);
  HadoopConnection fooled(login());
  CHECK(fooled.feed(negotiation()).ok());
  CHECK(fooled.feed(success("rspauth=0")).status().code() == Code::unauthenticated);
  HadoopConnection tokenless(login());
  std::string body;
  put_varint_field(&body, 2, 1);
  put_bytes_field(&body, 4, auth("KERBEROS", ""));
  CHECK(tokenless.feed(answer(kLoginCall, body)).status().code() == Code::unauthenticated);
}

TEST_CASE("what is no server of Hadoop is found out at once") {
  HadoopConnection connection(login());
  CHECK(connection.feed("HTTP/1.1 400 Bad Request").status().code() == Code::data_loss);
  HadoopConnection cut(login());
  CHECK(cut.feed(frame("\x7F")).status().code() == Code::data_loss);
  HadoopConnection early(login());
  CHECK(early.feed(success("")).status().code() == Code::data_loss);
}

// A login after which messages are protected, and the server's side of that.
struct ProtectedConnection {
  HadoopConnection connection;
  SaslLayer server;
  std::string sent = {};  // right after the login

  // What the client has said, of any number of protected messages.
  std::string unsealed(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
      size_t length = 0;
      for (const char byte : bytes.substr(0, 4))
        length = length << 8 | static_cast<unsigned char>(byte);
      // A header of ten bytes, and the size of what follows.
      wire::Reader reader(bytes.substr(4, length).substr(11));
      uint64_t size = 0;
      REQUIRE(reader.next_varint(&size));
      wire::Reader message(reader.remaining());
      for (wire::Field field; message.next(&field);)
        if (field.is(3, wire::WireType::bytes)) text += server.unwrap(field.bytes).value();
      bytes.remove_prefix(4 + length);
    }
    return text;
  }
};

ProtectedConnection protected_connection(const std::string& quality, const std::string& more = "") {
  const std::string challenge =
      str_cat(R"(realm="default",nonce="abc",qop=")", quality, R"(",cipher="3des,rc4")", more);
  const DigestResponse response =
      answer_digest(challenge,
                    {.user = "d2hv", .password = "c2VjcmV0", .uri = "/default", .nonce = "mine"})
          .value();
  ProtectedConnection made{
      .connection = HadoopConnection(login()),
      .server = SaslLayer::create(response.terms, SaslLayer::Side::server).value()};
  CHECK(made.connection.feed(negotiation(challenge)).ok());
  made.connection.take_output();
  CHECK(made.connection.feed(success(response.expected)).ok());
  made.sent = made.connection.take_output();
  return made;
}

TEST_CASE("after a login that agrees upon it, all is protected, both ways") {
  for (const char* quality : {"auth-int", "auth-conf"}) {
    ProtectedConnection it = protected_connection(quality);
    CHECK(it.unsealed(it.sent).find("Protocol") != std::string::npos);
    CHECK(it.connection.call("register", "REQUEST") == 0);
    CHECK(it.unsealed(it.connection.take_output()).ends_with(delimited("REQUEST")));
    // Frames are cut as the server likes, and its messages as the network does.
    const std::string frames = answer(0, "FIRST") + answer(1, "");
    std::string bytes = wrapped(it.server, frames.substr(0, 9));
    bytes += wrapped(it.server, frames.substr(9));
    std::vector<HadoopConnection::Answer> answers;
    for (const char byte : bytes)
      for (auto& one : it.connection.feed(std::string(1, byte)).value()) answers.push_back(one);
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].body.value() == "FIRST");
    CHECK(answers[1].call == 1);
  }
}

TEST_CASE("a request that is longer than the server takes at once comes in pieces") {
  ProtectedConnection it = protected_connection("auth-conf", ",maxbuf=64");
  CHECK(it.unsealed(it.sent).find("Protocol") != std::string::npos);
  it.connection.call("register", std::string(1000, 'x'));
  const std::string sent = it.connection.take_output();
  CHECK(it.unsealed(sent).ends_with(std::string(1000, 'x')));
}

TEST_CASE("where all is protected, nothing else is believed") {
  auto code_of = [](const auto& bytes_of) {
    ProtectedConnection it = protected_connection("auth-int");
    return it.connection.feed(bytes_of(it.server)).status().code();
  };
  CHECK(code_of([](SaslLayer&) { return answer(0, "PLAIN"); }) == Code::data_loss);
  CHECK(code_of([](SaslLayer&) { return success(""); }) == Code::data_loss);
  CHECK(code_of([](SaslLayer& server) {
          const std::string once = wrapped(server, answer(0, "FIRST"));
          return once + once;
        }) == Code::data_loss);
  CHECK(code_of([](SaslLayer& server) {
          std::string changed = wrapped(server, answer(0, "FIRST"));
          changed.back() = static_cast<char>(changed.back() ^ 1);
          return changed;
        }) == Code::data_loss);
  CHECK(code_of([](SaslLayer& server) { return wrapped(server, "\xFF\xFF\xFF\xFF"); }) ==
        Code::data_loss);
  // The server's last word may come bare, and is only the end.
  CHECK(code_of([](SaslLayer&) {
          return refusal(kLoginCall, 2, "javax.security.sasl.SaslException", "who are you");
        }) == Code::unauthenticated);
}

TEST_CASE("exceptions have the codes by which is decided what to do") {
  auto code = [](const std::string& name) {
    return hadoop_fault("org.apache.hadoop." + name, "").code();
  };
  CHECK(code("ipc.StandbyException") == Code::unavailable);
  CHECK(code("yarn.exceptions.ApplicationMasterNotRegisteredException") == Code::aborted);
  CHECK(code("yarn.exceptions.ApplicationAttemptNotFoundException") == Code::not_found);
  CHECK(code("yarn.exceptions.InvalidApplicationMasterRequestException") == Code::already_exists);
  CHECK(code("ipc.RpcNoSuchMethodException") == Code::unimplemented);
  CHECK(code("security.token.SecretManager$InvalidToken") == Code::unauthenticated);
  CHECK(code("security.AccessControlException") == Code::permission_denied);
  CHECK(hadoop_fault("java.io.IOException", "").message() == "IOException");
}

}  // namespace
}  // namespace millrace

#include "millrace/launch/yarn/messages.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/format/wire_format.h"

namespace millrace {
namespace {

using namespace std::string_literals;
using wire::put_bytes_field;
using wire::put_varint_field;

std::string number(int field, uint64_t value) {
  std::string out;
  put_varint_field(&out, field, value);
  return out;
}

std::string text(int field, const std::string& value) {
  std::string out;
  put_bytes_field(&out, field, value);
  return out;
}

// container_1700000000000_0007_01_<id>
std::string id_of(uint64_t id) {
  const std::string application = number(1, 7) + number(2, 1'700'000'000'000);
  return text(1, application) + text(2, text(1, application) + number(2, 1)) + number(3, id);
}

std::string node(const std::string& host) { return text(1, host) + number(2, 45454); }

TEST_CASE("what is asked for has the bytes that Hadoop's protocol gives it") {
  const AllocateRequest request{
      .asks = {{.wish = {.priority = 1, .megabytes = 64, .cores = 2, .label = "gpu"}, .count = 3}},
      .given_back = {{.text = "container", .bytes = "ID"}},
      .response_id = 5};
  CHECK(allocate_request(request) ==
        text(1, text(1, number(1, 1)) + text(2, "*") + text(3, number(1, 64) + number(2, 2)) +
                    number(4, 3) + number(5, 1) + text(6, "gpu")) +
            text(2, "ID") + number(4, 5) + "\x2D\0\0\0\0"s);
  // Golden: as Hadoop 3.4.2 takes it.
  CHECK(allocate_request({.asks = {{.wish = {.priority = 1, .megabytes = 64}, .count = 3}}}) ==
        "\x0A\x11\x0A\x02\x08\x01\x12\x01*\x1A\x04\x08\x40\x10\x01\x20\x03\x28\x01"
        "\x20\x00\x2D\x00\x00\x00\x00"s);
}

TEST_CASE("GPUs are one of the resources that a cluster has names for") {
  const ContainerWish wish{.priority = 1, .megabytes = 64, .gpus = 2};
  const std::string gpus = text(1, "yarn.io/gpu") + number(2, 2) + text(3, "") + number(4, 0);
  CHECK(allocate_request({.asks = {{.wish = wish, .count = 1}}}) ==
        text(1, text(1, number(1, 1)) + text(2, "*") +
                    text(3, number(1, 64) + number(2, 1) + text(3, gpus)) + number(4, 1) +
                    number(5, 1)) +
            number(4, 0) + "\x2D\0\0\0\0"s);
}

TEST_CASE("a container that is to be on one node is asked for there, and nowhere else") {
  const ContainerWish wish{
      .priority = 7, .megabytes = 64, .label = "gpu", .node = "n2", .rack = "/r"};
  const std::string room = text(3, number(1, 64) + number(2, 1)) + number(4, 1);
  CHECK(allocate_request({.asks = {{.wish = wish, .count = 1}}}) ==
        text(1, text(1, number(1, 7)) + text(2, "n2") + room + number(5, 1)) +
            text(1, text(1, number(1, 7)) + text(2, "/r") + room + number(5, 0)) +
            text(1, text(1, number(1, 7)) + text(2, "*") + room + number(5, 0) + text(6, "gpu")) +
            number(4, 0) + "\x2D\0\0\0\0"s);
}

TEST_CASE("what is given and what has ended are read with their nodes, tokens and reasons") {
  const std::string token = text(1, "identifier") + text(2, "password") + text(3, "NMToken");
  const AllocateAnswer answer =
      parse_allocate_answer(number(2, 6) +
                            text(3, text(1, id_of(2)) + text(2, node("n1")) +
                                        text(5, number(1, 3)) + text(6, "TOKEN")) +
                            text(4, text(1, id_of(3)) + number(2, 3) + text(3, "killed") +
                                        number(4, static_cast<uint64_t>(int64_t{-104}))) +
                            text(9, text(1, node("n1")) + text(2, token)) + text(12, token) +
                            number(7, 2))
          .value();
  CHECK(answer.response_id == 6);
  REQUIRE(answer.given.size() == 1);
  CHECK(answer.given[0].id.text == "container_1700000000000_0007_01_000002");
  CHECK(answer.given[0].id.bytes == id_of(2));
  CHECK(answer.given[0].node == NodeAddress{"n1", 45454});
  CHECK(answer.given[0].priority == 3);
  CHECK(answer.given[0].token == "TOKEN");
  REQUIRE(answer.ended.size() == 1);
  CHECK(answer.ended[0].id.text == "container_1700000000000_0007_01_000003");
  CHECK(answer.ended[0].status == -104);
  CHECK(answer.ended[0].diagnostics == "killed");
  REQUIRE(answer.node_tokens.size() == 1);
  CHECK(answer.node_tokens[0].first == NodeAddress{"n1", 45454});
  CHECK(answer.node_tokens[0].second.password == "password");
  CHECK(answer.master_token.value().kind == "NMToken");
  CHECK_FALSE(answer.is_resync);
  CHECK_FALSE(answer.is_shutdown);
}

TEST_CASE("a manager that has begun anew counts its beginnings in the names of containers") {
  const uint64_t second = uint64_t{2} << 40 | 5;
  const AllocateAnswer answer =
      parse_allocate_answer(text(4, text(1, id_of(second))) + number(1, 1)).value();
  CHECK(answer.ended[0].id.text == "container_e02_1700000000000_0007_01_000005");
  CHECK(answer.ended[0].status == -1000);
  CHECK(answer.is_resync);
  CHECK(parse_allocate_answer(number(1, 2)).value().is_shutdown);
}

TEST_CASE("a start carries what the container is to run, and the token that came with it") {
  const std::string request =
      start_request({.token = "TOKEN"}, {.command = "exec sh", .environment = {{"A", "b"}}});
  CHECK(request == text(1, text(1, text(4, text(1, "A") + text(2, "b")) + text(5, "exec sh")) +
                               text(2, "TOKEN")));
}

TEST_CASE("a start hands on the tokens by which files are brought, if there are any") {
  CHECK(start_request({}, {.command = "c", .credentials = "HDTS"}) ==
        text(1, text(1, text(2, "HDTS") + text(5, "c")) + text(2, "")));
}

TEST_CASE("a start says what is to be brought into the container's folder, and from where") {
  const LocalResource file{
      .name = "a.py", .url = "hdfs://nn:8020/me/a.py", .size = 5, .millis = 1'700'000'000'001};
  const LocalResource archive{
      .name = "env", .url = "webhdfs://nn/env.tar.gz", .size = 7, .millis = 9, .is_archive = true};
  const std::string request = start_request({}, {.command = "c", .resources = {file, archive}});
  const std::string of_file =
      text(1, text(1, "hdfs") + text(2, "nn") + number(3, 8020) + text(4, "/me/a.py")) +
      number(2, 5) + number(3, 1'700'000'000'001) + number(4, 2) + number(5, 3);
  const std::string of_archive =
      text(1, text(1, "webhdfs") + text(2, "nn") + text(4, "/env.tar.gz")) + number(2, 7) +
      number(3, 9) + number(4, 1) + number(5, 3);
  CHECK(request ==
        text(1, text(1, text(1, text(1, "a.py") + text(2, of_file)) +
                            text(1, text(1, "env") + text(2, of_archive)) + text(5, "c")) +
                    text(2, "")));
}

TEST_CASE("a node that does not start a container says why") {
  CHECK(parse_start_answer(text(2, id_of(2))).ok());
  const Status refused = parse_start_answer(text(
      3, text(1, id_of(2)) +
             text(2, text(1, "token is expired\n\tat x") + text(3,
                                                                "org.apache.hadoop.security.token."
                                                                "SecretManager$InvalidToken"))));
  CHECK(refused.message() == "token is expired");
  CHECK(refused.code() == Code::unauthenticated);
}

TEST_CASE("the end is said with its words, and noted or not") {
  CHECK(finish_request(FinalStatus::succeeded, "job succeeded") ==
        text(1, "job succeeded") + text(2, "") + number(3, 1));
  CHECK(parse_finish_answer(number(1, 1)).value());
  CHECK_FALSE(parse_finish_answer("").value());
  CHECK(stop_request({.bytes = "ID"}) == text(1, "ID"));
  CHECK(signal_request({.bytes = "ID"}) == text(1, "ID") + number(2, 2));
  CHECK(register_request("n1", 4000) == text(1, "n1") + number(2, 4000) + text(3, ""));
}

TEST_CASE("what is cut off makes no sense") {
  const std::string whole = text(3, text(1, id_of(2)) + text(2, node("n1")));
  for (size_t size = 1; size < whole.size(); ++size)
    CHECK(parse_allocate_answer(whole.substr(0, size)).status().code() == Code::data_loss);
  CHECK(parse_allocate_answer(text(3, "\x0A\x7F")).status().code() == Code::data_loss);
  CHECK(parse_start_answer("\x1A\x7F").code() == Code::data_loss);
  CHECK(parse_finish_answer("\x0A\x7F").status().code() == Code::data_loss);
}

}  // namespace
}  // namespace millrace

#include <memory>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "millrace/base/done.h"
#include "millrace/base/result.h"
#include "millrace/base/shown.h"
#include "millrace/base/status.h"

namespace millrace {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return invalid("cannot halve ", number);
  return number / 2;
}

Result<int> quarter(int number) {
  MR_ASSIGN(const int once, half(number).with("first"));
  MR_ASSIGN(const int twice, half(once).with("second"));
  return twice;
}

Status check_quarter(int number) {
  MR_TRY(quarter(number));
  return {};
}

TEST_CASE("OK carries nothing, an error its code and message") {
  CHECK(Status().ok());
  CHECK(Status().to_string() == "OK");
  CHECK(Status(Code::ok, "dropped").ok());
  const Status missing = not_found("no node '", std::string_view("x"), "' among ", 3);
  CHECK(missing.code() == Code::not_found);
  CHECK(missing.to_string() == "NOT_FOUND: no node 'x' among 3");
  CHECK(code_name(static_cast<Code>(42)) == "CODE(42)");
}

TEST_CASE("a long name is shown by its beginning, and no character is cut") {
  CHECK(shown("x") == "x");
  CHECK(shown(std::string(200, 'a')) == std::string(200, 'a'));
  CHECK(shown(std::string(100'000, 'a')) == std::string(200, 'a') + "… (100000 bytes)");
  CHECK(shown(std::string(199, 'a') + "äöü") == std::string(199, 'a') + "… (205 bytes)");
  CHECK(shown(std::string(300, '\x80')).size() < 230);  // no character at all
}

TEST_CASE("every code has TensorFlow's number and name") {
  CHECK(code_name(static_cast<Code>(0)) == "OK");
  CHECK(code_name(static_cast<Code>(10)) == "ABORTED");
  CHECK(code_name(static_cast<Code>(14)) == "UNAVAILABLE");
  CHECK(code_name(static_cast<Code>(16)) == "UNAUTHENTICATED");
}

TEST_CASE("context climbs in front, additions follow, OK stays OK") {
  const Status inner = invalid("bad");
  CHECK(inner.with("outer").message() == "outer: bad");
  CHECK(inner.then("; more").message() == "bad; more");
  CHECK(Status().with("outer").ok());
  CHECK(Status().then("more").ok());
  CHECK(Status().as_consequence().ok());
  CHECK(Status().with_payload("url", "bytes").ok());
}

TEST_CASE(
    "a status knows whether it is a consequence, and keeps that and its payloads under context") {
  const Status status = aborted("x").as_consequence().with_payload("url", "bytes").with("context");
  CHECK(status.is_consequence());
  CHECK(status.payloads().at("url") == "bytes");
  CHECK_FALSE(aborted("x").is_consequence());
}

TEST_CASE("a result holds a value or the reason why there is none") {
  CHECK(quarter(8).value() == 2);
  CHECK(quarter(8).status().ok());
  CHECK(quarter(3).status().message() == "first: cannot halve 3");
  CHECK(quarter(6).status().message() == "second: cannot halve 3");
  CHECK(check_quarter(8).ok());
  CHECK(check_quarter(6).code() == Code::invalid_argument);
}

TEST_CASE("a result made from OK without a value is an error") {
  CHECK(Result<int>(Status()).status().code() == Code::internal);
}

TEST_CASE("a result carries values that only move") {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = std::move(made).value();
  CHECK(*taken == 7);
}

TEST_CASE("a continuation answers once with what it is given") {
  int calls = 0;
  Done<int> done([&](Result<int> answer) {
    ++calls;
    CHECK(answer.value() == 5);
  });
  CHECK(static_cast<bool>(done));
  done(5);
  CHECK(calls == 1);
  CHECK_FALSE(static_cast<bool>(done));
}

TEST_CASE("a continuation that is dropped answers with an error by itself") {
  Status answer;
  {
    Done<int> dropped([&](Result<int> result) { answer = result.status(); });
  }
  CHECK(answer.code() == Code::internal);

  Status replaced;
  Done<void> done([&](Status status) { replaced = status; });
  done = Done<void>();
  CHECK(replaced.code() == Code::internal);
}

TEST_CASE("a continuation that was moved from stays silent") {
  int calls = 0;
  Done<void> first([&](Status) { ++calls; });
  {
    Done<void> second = std::move(first);
    CHECK_FALSE(static_cast<bool>(first));  // NOLINT(bugprone-use-after-move): that is the test
    second({});
  }
  first = Done<void>();
  CHECK(calls == 1);
}

TEST_CASE(
    "a continuation that captured the last owner of its object may be dropped inside its own "
    "call") {
  auto self = std::make_shared<Done<void>>();
  bool called = false;
  *self = Done<void>([self, &called](Status) { called = true; });
  auto* done = self.get();
  self.reset();
  (*done)({});
  CHECK(called);
}

}  // namespace
}  // namespace millrace

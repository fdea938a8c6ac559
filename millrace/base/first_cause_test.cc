#include "millrace/base/first_cause.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

const Status kCause = not_found("no file"), kOther = internal("broken");
const Status kConsequence = cancelled("stopped").as_consequence();
const Status kLater = aborted("cleaned up").as_consequence();

TEST_CASE("the first cause is told, whatever comes before and after it") {
  CHECK(first_cause({kCause, kOther}) == kCause);
  CHECK(first_cause({kConsequence, kCause, kOther}) == kCause);
  CHECK(first_cause({{}, kCause, kLater, {}}) == kCause);
}

TEST_CASE("without a cause the first consequence is told") {
  CHECK(first_cause({{}, kConsequence, kLater}) == kConsequence);
  CHECK(first_cause({kConsequence, {}}).is_consequence());
}

TEST_CASE("if nothing failed, there is nothing to tell") {
  CHECK(first_cause({}).ok());
  CHECK(first_cause({{}, {}}).ok());
}

TEST_CASE("whoever adds an error learns whether it is the one to tell") {
  FirstCause first;
  CHECK_FALSE(first.add({}));
  CHECK(first.add(kConsequence));
  CHECK_FALSE(first.add(kLater));
  CHECK(first.add(kCause));
  CHECK_FALSE(first.add(kOther));
  CHECK_FALSE(first.add({}));
  CHECK(first.status() == kCause);
  CHECK_FALSE(first.ok());
}

}  // namespace
}  // namespace millrace

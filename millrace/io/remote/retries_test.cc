#include "millrace/io/remote/retries.h"

#include <doctest/doctest.h>

#include "millrace/io/remote/testing/scripted_http.h"

namespace millrace::remote {
namespace {

constexpr RetryTerms kNoPauses{.tries = 4,
                               .first_pause = std::chrono::milliseconds(0),
                               .longest_pause = std::chrono::milliseconds(0)};

Answer asked(testing::ScriptedHttp& http, Repeat repeat, RetryTerms terms = kNoPauses) {
  SeededRandom random(1);
  Retries retries(Clock::real(), random, terms);
  return retries.send([&] { return http.send({.url = "http://a/"}); }, repeat);
}

TEST_CASE("what fails for now is asked again until it is answered") {
  testing::ScriptedHttp http;
  http.fail(unavailable("refused"), false);
  http.answer(503);
  http.answer(200, "there");
  const Answer answer = asked(http, Repeat::always);
  CHECK(answer.reply.body == "there");
  CHECK(answer.tries == 3);
}

TEST_CASE("tries end, and the last answer stands") {
  testing::ScriptedHttp http;
  for (int i = 0; i < 10; ++i) http.answer(500 + i % 2 * 3);
  CHECK(asked(http, Repeat::always).tries == 4);
  CHECK(http.seen().size() == 4);
}

TEST_CASE("an answer that stays what it is comes once") {
  for (const int status : {200, 301, 400, 403, 404, 412, 501, 507}) {
    testing::ScriptedHttp http;
    http.answer(status);
    CHECK(asked(http, Repeat::always).tries == 1);
  }
  testing::ScriptedHttp http;
  http.fail(error(Code::data_loss, "too long"), true);
  CHECK(asked(http, Repeat::always).tries == 1);
}

TEST_CASE("what may not be done twice is asked again only if it was never sent") {
  testing::ScriptedHttp http;
  http.fail(unavailable("refused"), false);
  http.fail(unavailable("reset"), true);
  const Answer answer = asked(http, Repeat::unsent);
  CHECK(answer.tries == 2);
  CHECK(answer.reply.trouble.message() == "reset");
}

TEST_CASE("pauses grow, up to the longest, and no two clients wait alike") {
  SeededRandom random(7);
  const RetryTerms terms;
  for (int next = 2; next < 40; ++next) {
    const int64_t whole =
        std::min<int64_t>(terms.longest_pause.count(), 100LL << std::min(next - 2, 20));
    const auto pause = pause_before(next, {}, terms, random).count();
    CHECK(pause >= whole / 2);
    CHECK(pause <= whole);
  }
}

TEST_CASE("a server that says how long is believed, if that is not too long") {
  SeededRandom random(7);
  CHECK(pause_before(2, {.headers = {{"retry-after", "3"}}}, {}, random) ==
        std::chrono::seconds(3));
  CHECK(pause_before(2, {.headers = {{"retry-after", "86400"}}}, {}, random) <=
        std::chrono::milliseconds(100));
}

TEST_CASE("nothing is asked again after the end was told") {
  testing::ScriptedHttp http;
  http.answer(503);
  http.answer(200);
  SeededRandom random(1);
  // The pause would outlast any test.
  Retries retries(Clock::real(), random,
                  {.first_pause = std::chrono::hours(1), .longest_pause = std::chrono::hours(1)});
  retries.stop();
  CHECK(retries.send([&] { return http.send({.url = "http://a/"}); }, Repeat::always).tries == 1);
}

}  // namespace
}  // namespace millrace::remote

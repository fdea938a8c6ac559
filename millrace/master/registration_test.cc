// How a step gets known to its workers, as transcripts: what they say, and what the master does.
//
//   parts a b             the step has parts on a and b
//   a OK                  a took its part
//   a NOT_FOUND no op     … or refused it; "~" before the code marks a consequence
//   let go                nobody can run the step any more
#include "millrace/master/registration.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/testing/script.h"
#include "millrace/base/testing/spoken_status.h"

namespace millrace {
namespace {

std::string registered(const std::string& script) {
  std::vector<std::string> names;
  std::optional<Registration> registration;
  std::ostringstream out;
  testing::each_line(script, [&](const std::string& who, std::istringstream& words) {
    if (who == "parts") {
      for (std::string name; words >> name;) names.push_back(name);
      registration.emplace(names.size());
      return;
    }
    const auto index =
        static_cast<size_t>(std::find(names.begin(), names.end(), who) - names.begin());
    const Registration::Actions actions =
        who == "let" ? registration->on_let_go()
                     : registration->on_reply(index, testing::spoken_status(words));
    for (const size_t part : actions.forget) out << "forget " << names[part] << '\n';
    if (actions.answer) out << "step <- " << registration->outcome().to_string() << '\n';
  });
  return out.str();
}

TEST_CASE("a step can be run when every worker has its part") {
  CHECK(registered("parts a b c\n"
                   "b OK\n"
                   "a OK\n"
                   "c OK\n") == "step <- OK\n");
}

TEST_CASE("if one worker refuses, the others forget their parts, once all have answered") {
  CHECK(registered("parts a b c\n"
                   "a OK\n"
                   "b NOT_FOUND no op\n"
                   "c OK\n") ==
        "forget a\n"
        "forget c\n"
        "step <- NOT_FOUND: no op\n");
}

TEST_CASE("a worker that refused has nothing to forget") {
  CHECK(registered("parts a\n"
                   "a INVALID_ARGUMENT cycle\n") == "step <- INVALID_ARGUMENT: cycle\n");
}

TEST_CASE("of several refusals the first cause is told") {
  CHECK(registered("parts a b c\n"
                   "a ~CANCELLED closing\n"
                   "c INTERNAL broken\n"
                   "b NOT_FOUND no op\n") == "step <- INTERNAL: broken\n");
}

TEST_CASE("without a cause a consequence is told") {
  CHECK(registered("parts a b\n"
                   "a ~CANCELLED closing\n"
                   "b OK\n") ==
        "forget b\n"
        "step <- CANCELLED: closing\n");
}

TEST_CASE("a worker that answers twice is heard once") {
  CHECK(registered("parts a b\n"
                   "a OK\n"
                   "a NOT_FOUND no op\n"
                   "b OK\n"
                   "b INTERNAL late\n") == "step <- OK\n");
}

TEST_CASE("a step that is let go is forgotten everywhere, once") {
  CHECK(registered("parts a b\n"
                   "a OK\n"
                   "b OK\n"
                   "let go\n"
                   "let go\n") ==
        "step <- OK\n"
        "forget a\n"
        "forget b\n");
}

TEST_CASE("a step that failed leaves nothing to let go") {
  CHECK(registered("parts a b\n"
                   "a OK\n"
                   "b NOT_FOUND no op\n"
                   "let go\n") ==
        "forget a\n"
        "step <- NOT_FOUND: no op\n");
}

TEST_CASE("a step that is let go while it is registered is forgotten as the answers come") {
  CHECK(registered("parts a b c\n"
                   "a OK\n"
                   "let go\n"
                   "b OK\n"
                   "c NOT_FOUND no op\n") ==
        "forget a\n"
        "forget b\n"
        "step <- NOT_FOUND: no op\n");
}

}  // namespace
}  // namespace millrace

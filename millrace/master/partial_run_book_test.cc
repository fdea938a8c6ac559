// Partial runs as transcripts, on the graph y = -f, z = y + g: what is announced, what legs bring,
// and what the master does about it.
//
//   setup y:0 z:0 <- f:0 g:0   announces fetches and feeds
//   leg y:0 <- f:0             a leg | leg ... !node: with a target
//   ended OK | last OK         a leg has been answered, or the last one
//   close                      the session is closed
#include "millrace/master/partial_run_book.h"

#include <optional>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "millrace/base/testing/script.h"
#include "millrace/base/testing/spoken_status.h"

namespace millrace {
namespace {

class PartialRunScript {
 public:
  std::string run(const std::string& script) {
    testing::each_line(script, [this](const std::string& verb, std::istringstream& words) {
      happen(verb, words);
    });
    return out_;
  }

 private:
  using Leg = PartialRunBook::Leg;

  void happen(const std::string& verb, std::istringstream& words) {
    if (verb == "close") return tell(book_->on_session_closed());
    if (verb == "ended")
      return tell(book_->on_leg_ended(Leg::further, testing::spoken_status(words)));
    if (verb == "last") return tell(book_->on_leg_ended(Leg::last, testing::spoken_status(words)));
    StepRequestNames names;
    bool is_feed = false;
    for (std::string word; words >> word;) {
      if (word == "<-") {
        is_feed = true;
      } else if (word[0] == '!') {
        names.targets.push_back(word.substr(1));
      } else {
        (is_feed ? names.feeds : names.fetches).push_back(word);
      }
    }
    if (verb == "setup") return void(book_.emplace(names.feeds, names.fetches));
    const auto leg =
        book_->on_leg(names, [](const std::string& fetch) -> Result<std::vector<std::string>> {
          if (fetch == "y:0") return std::vector<std::string>{"f:0"};
          return std::vector<std::string>{"f:0", "g:0"};
        });
    if (!leg.ok()) return say(leg.status().to_string());
    say(*leg == Leg::last ? "run the last leg" : "run a leg");
  }
  void tell(PartialRunBook::End end) {
    if (end == PartialRunBook::End::clean_up) say("clean up");
  }
  void say(const std::string& line) { str_append(&out_, line, "\n"); }

  std::optional<PartialRunBook> book_;
  std::string out_;
};

const std::string kSetup = "setup y:0 z:0 <- f:0 g:0\n";
std::string partial_run(const std::string& script) {
  return PartialRunScript().run(kSetup + script);
}

TEST_CASE("a partial run is over when all has come and gone and the last leg has ended") {
  CHECK(partial_run("leg y:0 <- f:0\nended OK\nleg z:0 <- g:0\nlast OK") ==
        "run a leg\nrun the last leg\nclean up\n");
}

TEST_CASE("the last leg may end before another that overlaps it") {
  CHECK(
      partial_run("leg y:0 <- f:0\nleg z:0 <- g:0\nlast OK\nended OK\nended ABORTED cleaned up") ==
      "run a leg\nrun the last leg\nclean up\n");
}

TEST_CASE("a leg that fails ends the run, once, and later ones are told to begin anew") {
  CHECK(partial_run("leg y:0 <- f:0\nended ABORTED a worker is gone\nended ABORTED likewise\n"
                    "leg z:0 <- g:0\nclose") ==
        "run a leg\nclean up\n"
        "INVALID_ARGUMENT: Must run PartialRunSetup before performing partial runs\n");
}

TEST_CASE("a leg takes what was announced, each once, when its feeds have come, and no targets") {
  const auto refused = [](const std::string& leg) {
    return partial_run("leg y:0 <- f:0\n" + leg).substr(std::string("run a leg\n").size());
  };
  CHECK(refused("leg z:0 <- f:0") == "INVALID_ARGUMENT: The feed f:0 has already been fed.\n");
  CHECK(refused("leg z:0 <- y:0") ==
        "INVALID_ARGUMENT: The feed y:0 was not specified in partial_run_setup.\n");
  CHECK(refused("leg y:0 <- g:0") == "INVALID_ARGUMENT: The fetch y:0 has already been fetched.\n");
  CHECK(refused("leg f:0") ==
        "INVALID_ARGUMENT: The fetch f:0 was not specified in partial_run_setup.\n");
  CHECK(refused("leg z:0") ==
        "INVALID_ARGUMENT: Fetch z:0 can't be computed from the feeds that have been fed so far: "
        "g:0 is missing.\n");
  CHECK(refused("leg z:0 !y <- g:0") ==
        "INVALID_ARGUMENT: a partial run takes its targets at setup; this leg names 'y'\n");
}

TEST_CASE("a session that closes cleans up a run that is not over") {
  CHECK(partial_run("leg y:0 <- f:0\nclose\nended CANCELLED closed") == "run a leg\nclean up\n");
  CHECK(partial_run("leg y:0 z:0 <- f:0 g:0\nlast OK\nclose") == "run the last leg\nclean up\n");
}

}  // namespace
}  // namespace millrace

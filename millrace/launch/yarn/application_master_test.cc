#include "millrace/launch/yarn/application_master.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// A master, and what it says and does as lines.
class Story {
 public:
  void want(ErrandId errand, int priority) {
    on(Wanted{errand, {.priority = priority, .megabytes = 64}});
  }

  // What is said to the ResourceManager next: "#3 ask 1:2 back c1".
  std::string says() {
    const AllocateRequest& request = master_.next_request();
    std::string text = str_cat("#", request.response_id);
    for (const ContainerAsk& ask : request.asks)
      str_append(&text, " ask ", ask.wish.priority, ":", ask.count);
    for (const ContainerId& id : request.given_back) str_append(&text, " back ", id.text);
    return text;
  }

  std::string answered(std::vector<GivenContainer> given, std::vector<EndedContainer> ended = {}) {
    return on(Answered{
        {.response_id = ++answers_, .given = std::move(given), .ended = std::move(ended)}});
  }

  std::string started(const std::string& container, Status status = {}) {
    return on(StartAnswered{container, std::move(status)});
  }

  std::string on(const MasterEvent& event) {
    std::string text;
    for (const MasterAction& action : master_.on(event)) {
      if (!text.empty()) text += "; ";
      if (const auto* it = std::get_if<StartContainer>(&action))
        str_append(&text, "start ", it->container.id.text, " for ", it->errand);
      if (const auto* it = std::get_if<SignalContainer>(&action))
        str_append(&text, "signal ", it->container.text, " on ", it->node.host);
      if (const auto* it = std::get_if<StopContainer>(&action))
        str_append(&text, "stop ", it->container.text, " on ", it->node.host);
      if (const auto* it = std::get_if<TellRuns>(&action))
        str_append(&text, "tell ", it->errand, " runs ", it->container, " on ", it->node);
      if (const auto* it = std::get_if<TellEnd>(&action))
        str_append(&text, "tell ", it->errand, " end ", it->end.code,
                   it->end.words.empty() ? "" : " ", it->end.words);
    }
    return text;
  }

  bool is_eager() const { return master_.is_eager(); }

 private:
  ApplicationMaster master_;
  int answers_ = 0;
};

GivenContainer given(const std::string& name, int priority) {
  return {.id = {.text = name, .bytes = name}, .node = {"n1", 1}, .priority = priority};
}

EndedContainer ended(const std::string& name, int status, std::string why = {}) {
  return {.id = {.text = name, .bytes = name}, .status = status, .diagnostics = std::move(why)};
}

// One errand, which runs in c1.
Story running() {
  Story story;
  story.want(1, 1);
  story.says();
  story.answered({given("c1", 1)});
  story.started("c1");
  story.says();
  story.answered({});
  return story;
}

TEST_CASE("containers are asked for by their kinds, started as they come, and their ends told") {
  Story story;
  story.want(1, 1);
  story.want(2, 2);
  story.want(3, 2);
  CHECK(story.is_eager());
  CHECK(story.says() == "#0 ask 1:1 ask 2:2");
  CHECK(story.answered({given("a", 2)}) == "start a for 2");
  // What was given just then did not count when the numbers were said.
  CHECK(story.says() == "#1 ask 1:1 ask 2:1");
  CHECK(story.answered({given("b", 1), given("c", 2)}) == "start b for 1; start c for 3");
  CHECK(story.started("a") == "tell 2 runs a on n1");
  CHECK(story.started("b") == "tell 1 runs b on n1");
  CHECK(story.started("c") == "tell 3 runs c on n1");
  CHECK(story.says() == "#2 ask 1:0 ask 2:0");
  CHECK(story.answered({}, {ended("a", 0), ended("b", 3)}) == "tell 2 end 0; tell 1 end 3");
  CHECK(story.says() == "#3");
  CHECK_FALSE(story.is_eager());
}

TEST_CASE("what was given too much is given back") {
  Story story;
  story.want(1, 1);
  story.says();
  CHECK(story.answered({given("a", 1), given("b", 1)}) == "start a for 1");
  CHECK(story.says() == "#1 ask 1:0 back b");
  CHECK(story.answered({}, {ended("b", -100)}).empty());
}

TEST_CASE("what is not answered is said again, and nothing else") {
  Story story;
  story.want(1, 1);
  CHECK(story.says() == "#0 ask 1:1");
  story.want(2, 1);
  CHECK(story.says() == "#0 ask 1:1");
  story.answered({});
  CHECK(story.says() == "#1 ask 1:2");
}

TEST_CASE("an end that is wished for is told to the program, wherever it is on its way") {
  Story story = running();
  CHECK(story.on(EndWished{1}) == "signal c1 on n1");
  CHECK(story.on(EndWished{1}).empty());
  CHECK(story.is_eager());
  CHECK(story.answered({}, {ended("c1", 143)}) == "tell 1 end 143");

  Story waiting;
  waiting.want(1, 1);
  CHECK(waiting.on(EndWished{1}) == "tell 1 end 143");
  CHECK(waiting.says() == "#0 ask 1:0");

  Story starting;
  starting.want(1, 1);
  starting.says();
  starting.answered({given("c1", 1)});
  CHECK(starting.on(EndWished{1}).empty());
  CHECK(starting.started("c1") == "tell 1 runs c1 on n1; signal c1 on n1");
}

TEST_CASE("a node that can't hand on the signal stops the container instead") {
  Story story = running();
  story.on(EndWished{1});
  CHECK(story.on(SignalAnswered{"c1", unimplemented("Unknown method")}) == "stop c1 on n1");
  CHECK(story.on(SignalAnswered{"c1", {}}).empty());
}

TEST_CASE("with its errand a container goes, and nobody is told") {
  Story story = running();
  CHECK(story.on(ErrandGone{1}) == "stop c1 on n1");
  CHECK(story.says() == "#2 back c1");
  CHECK(story.answered({}, {ended("c1", -105)}).empty());

  Story starting;
  starting.want(1, 1);
  starting.says();
  starting.answered({given("c1", 1)});
  CHECK(starting.on(ErrandGone{1}).empty());
  CHECK(starting.started("c1").empty());
  CHECK(starting.says() == "#1 ask 1:0 back c1");

  Story waiting;
  waiting.want(1, 1);
  CHECK(waiting.on(ErrandGone{1}).empty());
  CHECK(waiting.says() == "#0 ask 1:0");
}

TEST_CASE("a container that can't be started makes room for another, three times") {
  Story story;
  story.want(1, 1);
  story.says();
  for (const char* name : {"a", "b"}) {
    CHECK(story.answered({given(name, 1)}) == str_cat("start ", name, " for 1"));
    CHECK(story.started(name, unavailable("Connection refused")).empty());
    CHECK(story.says().find(str_cat(" ask 1:1 back ", name)) != std::string::npos);
  }
  story.answered({given("c", 1)});
  CHECK(story.started("c", unavailable("Connection refused")) ==
        "tell 1 end 255 could not start: the container on n1: Connection refused");
}

TEST_CASE("a container that was lost says so, also before it is known to run") {
  Story story;
  story.want(1, 1);
  story.says();
  story.answered({given("c1", 1)});
  CHECK(story.answered({}, {ended("c1", -100, "Container released on a *lost* node")}) ==
        "tell 1 end 255 taken away: its machine n1 is lost");
  CHECK(story.started("c1").empty());
}

TEST_CASE("what YARN refuses to give is told to all who wait for it") {
  Story story = running();
  story.want(2, 2);
  story.says();
  CHECK(story.on(AsksRefused{invalid("no label 'gpu'")}) ==
        "tell 2 end 255 could not start: no label 'gpu'");
  CHECK(story.says() == "#2");
}

TEST_CASE(
    "what was given back in the same breath as something that is refused is given back again") {
  Story story = running();
  story.on(ErrandGone{1});
  story.want(2, 2);
  CHECK(story.says() == "#2 ask 2:1 back c1");
  story.on(AsksRefused{invalid("no label 'gpu'")});
  CHECK(story.says() == "#2 back c1");
}

TEST_CASE("when YARN gives up, everybody is told, and what runs is stopped") {
  Story story = running();
  story.want(2, 1);
  CHECK(story.on(Abandoned{aborted("YARN has given up this attempt")}) ==
        "stop c1 on n1; tell 1 end 255 taken away: YARN has given up this attempt; "
        "tell 2 end 255 taken away: YARN has given up this attempt");
  CHECK(story.on(Wanted{3, {.priority = 1}}) ==
        "tell 3 end 255 taken away: YARN has given up this attempt");
  CHECK(story.on(ErrandGone{1}).empty());
}

TEST_CASE("a manager that has begun anew hears once more what is wanted and what is given back") {
  Story story = running();
  story.want(2, 1);
  story.says();
  story.answered({given("c2", 1), given("c3", 1)});
  story.want(3, 1);
  story.started("c2");
  CHECK(story.says() == "#3 ask 1:1 back c3");
  CHECK(story.on(RegisteredAgain{}).empty());
  CHECK(story.says() == "#0 ask 1:1 back c3");
  CHECK(story.answered({}, {ended("c1", 0)}) == "tell 1 end 0");
}

}  // namespace
}  // namespace millrace

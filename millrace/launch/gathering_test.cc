#include "millrace/launch/gathering.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

JobSpec training() {
  return {.roles = {{"files", 1}, {.name = "map", .count = 2, .environment = {{"A", "b"}}}},
          .command = {"count"}};
}

std::string arrival(const TaskName& task, const std::string& address,
                    const std::string& token = "t") {
  return to_line(Arrival{token, task, address});
}

// What happens, as lines: "tell 1 {…}", "hang up 1", "record 0 …", "note …".
std::vector<std::string> shown(const std::vector<Gathering::Action>& actions) {
  std::vector<std::string> lines;
  for (const Gathering::Action& action : actions) {
    if (const auto* it = std::get_if<Gathering::Tell>(&action))
      lines.push_back(str_cat("tell ", it->to, " ", it->line.substr(0, it->line.size() - 1)));
    if (const auto* it = std::get_if<Gathering::HangUp>(&action))
      lines.push_back(str_cat("hang up ", it->who));
    if (const auto* it = std::get_if<Gathering::Recorded>(&action))
      lines.push_back(str_cat("record ", it->task, " ", it->line));
    if (const auto* it = std::get_if<Gathering::Came>(&action))
      lines.push_back(str_cat("came ", it->task, " ", it->address));
    if (const auto* it = std::get_if<Gathering::Note>(&action)) lines.push_back("note " + it->text);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST_CASE("all tasks learn where all are when the last one has come") {
  Gathering gathering(training(), "t");
  CHECK(shown(gathering.said(7, arrival({"map", 0, 1}, "b:2"))) ==
        Lines{"came 2 b:2", R"(tell 7 {"waiting_for":["files:0","map:0"],"more":0})"});
  CHECK(shown(gathering.said(8, arrival({"files", 0, 0}, "a:1"))) ==
        Lines{"came 0 a:1", R"(tell 8 {"waiting_for":["map:0"],"more":0})"});
  CHECK(!gathering.complete());
  CHECK(shown(gathering.remind()).size() == 2);
  const std::string cluster = R"({"cluster":{"files":["a:1"],"map":["c:3","b:2"]},"environment":)";
  CHECK(shown(gathering.said(9, arrival({"map", 0, 0}, "c:3"))) ==
        Lines{"came 1 c:3", "tell 8 " + cluster + R"({"MILLRACE_ATTEMPT":"1"}})",
              "tell 9 " + cluster + R"({"A":"b","MILLRACE_ATTEMPT":"1"}})",
              "tell 7 " + cluster + R"({"A":"b","MILLRACE_ATTEMPT":"1"}})",
              "note all 3 tasks are there"});
  CHECK(gathering.complete());
  CHECK(gathering.remind().empty());
}

TEST_CASE("a task may say what its manager calls the machine that it is on") {
  Gathering gathering({.roles = {{"map", 1}}, .command = {"count"}}, "t");
  const auto actions = gathering.said(3, to_line(Arrival{"t", {"map", 0, 0}, "10.0.0.8:1", "n8"}));
  CHECK(std::get<Gathering::Came>(actions.at(0)).machine == "n8");
}

TEST_CASE("a task may say at which port commands are let in beside it") {
  Gathering gathering({.roles = {{"map", 1}}, .command = {"count"}}, "t");
  Arrival arrival{"t", {"map", 0, 0}, "10.0.0.8:1"};
  CHECK(parse_arrival(to_line(arrival)).value().guests == 0);
  arrival.guests = 40124;
  const auto actions = gathering.said(3, to_line(arrival));
  CHECK(std::get<Gathering::Came>(actions.at(0)).guests == 40124);
  arrival.guests = 70000;
  CHECK(parse_arrival(to_line(arrival)).status().message() == "'guests' is no port");
}

TEST_CASE("after the start, what a task says is its record") {
  Gathering gathering({.roles = {{"map", 1}}, .command = {"count"}}, "t");
  (void)gathering.said(3, arrival({"map", 0, 0}, "a:1"));
  CHECK(shown(gathering.said(3, "{\"millrace_task\": 1}")) ==
        Lines{"record 0 {\"millrace_task\": 1}"});
  CHECK(gathering.left(3).empty());
}

TEST_CASE("who goes away before the start is missing again, and may come again") {
  Gathering gathering(training(), "t");
  (void)gathering.said(1, arrival({"map", 0, 0}, "a:1"));
  CHECK(shown(gathering.left(1)) == Lines{"came 1 ", "note map:0 went away before all were there"});
  CHECK(gathering.missing(9).tasks == Lines{"files:0", "map:0", "map:1"});
  CHECK(shown(gathering.said(2, arrival({"map", 0, 0}, "a:2"))).size() == 2);
}

TEST_CASE("strangers, doubles and nonsense are refused and hung up on") {
  Gathering gathering(training(), "t");
  (void)gathering.said(1, arrival({"map", 0, 0}, "a:1"));
  struct Row {
    std::string line, why;
  };
  for (const Row& row : {
           Row{arrival({"map", 0, 1}, "a:1", "guess"), "the token is not that of this job"},
           Row{arrival({"map", 0, 1}, "a:1", "x"), "the token is not that of this job"},
           Row{arrival({"map", 0, 2}, "a:1"), "the job has no task map:2"},
           Row{arrival({"ps", 0, 0}, "a:1"), "the job has no task ps:0"},
           Row{arrival({"map", 0, 0}, "b:1"), "map:0 has come already, at a:1"},
           Row{arrival({"map", 0, 1}, "no address"), "no address"},
           Row{"GET / HTTP/1.1", ""},
           Row{"[]", "this is no task that joins"},
           Row{R"({"millrace_join": 2})", "the task speaks version 2 of joining; 1 is understood"},
           Row{R"({"millrace_join": 1, "token": 3})", "'token' is no text"},
           Row{R"({"millrace_join": 1, "token": "t", "task": "map"})", "'map' is no task"},
           Row{std::string(5000, 'x'), "5000 bytes"},
       }) {
    const Lines lines = shown(gathering.said(2, row.line));
    CAPTURE(row.line);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].starts_with(R"(tell 2 {"refused":)"));
    CHECK_MESSAGE(lines[0].find(row.why) != std::string::npos, row.why);
    CHECK(lines[1] == "hang up 2");
  }
}

TEST_CASE("a task that is started again serves where the others look for it") {
  Gathering gathering({.roles = {{"map", 2}}, .command = {"count"}}, "t");
  (void)gathering.begins(0, 1);
  (void)gathering.said(1, arrival({"map", 0, 0}, "a:1"));
  (void)gathering.said(2, arrival({"map", 0, 1}, "b:2"));
  // Nobody has started it again: this is a double.
  (void)gathering.left(1);
  CHECK(shown(gathering.said(3, arrival({"map", 0, 0}, "a:7"))).back() == "hang up 3");

  CHECK(gathering.begins(0, 2).empty());
  CHECK(shown(gathering.said(4, arrival({"map", 0, 0}, "a:7"))) ==
        Lines{R"(tell 4 {"be_at":"a:1"})"});
  CHECK(shown(gathering.said(4, arrival({"map", 0, 0}, "a:1"))) ==
        Lines{"came 0 a:1", R"(tell 4 {"cluster":{"map":["a:1","b:2"]},)"
                            R"("environment":{"MILLRACE_ATTEMPT":"2"}})"});
  CHECK(shown(gathering.said(4, "{}")) == Lines{"record 0 {}"});
  CHECK(shown(gathering.said(5, arrival({"map", 0, 0}, "a:1"))).back() == "hang up 5");

  // A connection that is left of the life before is none of the next one's.
  CHECK(shown(gathering.begins(1, 2)) == Lines{"hang up 2"});
  CHECK(gathering.left(2).empty());
  CHECK(shown(gathering.said(6, arrival({"map", 0, 1}, "b:2", "guess"))).back() == "hang up 6");
  CHECK(shown(gathering.said(7, arrival({"map", 0, 1}, "b:2"))).size() == 2);
}

TEST_CASE("a task that is started again before all are there comes like any other") {
  Gathering gathering({.roles = {{"map", 2}}, .command = {"count"}}, "t");
  (void)gathering.said(1, arrival({"map", 0, 0}, "a:1"));
  (void)gathering.left(1);
  CHECK(gathering.begins(0, 2).empty());
  (void)gathering.said(2, arrival({"map", 0, 0}, "a:5"));
  const Lines lines = shown(gathering.said(3, arrival({"map", 0, 1}, "b:2")));
  CHECK(lines[1] == R"(tell 2 {"cluster":{"map":["a:5","b:2"]},)"
                    R"("environment":{"MILLRACE_ATTEMPT":"2"}})");
  CHECK(lines[2] == R"(tell 3 {"cluster":{"map":["a:5","b:2"]},)"
                    R"("environment":{"MILLRACE_ATTEMPT":"1"}})");
}

TEST_CASE("what is left of a life before all are there does not stand in the way of the next") {
  Gathering gathering({.roles = {{"map", 2}}, .command = {"count"}}, "t");
  (void)gathering.said(1, arrival({"map", 0, 0}, "a:1"));
  // Its machine was lost: nobody has closed the connection.
  CHECK(shown(gathering.begins(0, 2)) ==
        Lines{"hang up 1", "came 0 ", "note map:0 went away before all were there"});
  CHECK(shown(gathering.said(2, arrival({"map", 0, 0}, "a:5"))).front() == "came 0 a:5");
}

TEST_CASE("tasks that there may be later come with the others, and hold their places") {
  using enum Gathering::ForNow;
  Gathering gathering({.roles = {{.name = "map", .count = 1, .most = 2}}, .command = {"count"}},
                      "t");
  (void)gathering.begins(1, 1, holds);
  (void)gathering.said(1, arrival({"map", 0, 0}, "a:1"));
  CHECK(!gathering.complete());
  const std::string cluster = R"({"cluster":{"map":["a:1","b:2"]},"environment":)";
  const std::string first = R"({"MILLRACE_ATTEMPT":"1"}})";
  CHECK(shown(gathering.said(2, arrival({"map", 0, 1}, "b:2"))) ==
        Lines{"came 1 b:2", "tell 1 " + cluster + first, R"(tell 2 {"hold":true})",
              "note all 2 tasks are there"});
  CHECK(shown(gathering.wanted(1)) == Lines{"tell 2 " + cluster + first});
  CHECK(shown(gathering.said(2, "{}")) == Lines{"record 1 {}"});

  // It was taken away: its place is held for the next attempt, at the same address.
  (void)gathering.left(2);
  CHECK(gathering.begins(1, 2, holds).empty());
  CHECK(shown(gathering.said(3, arrival({"map", 0, 1}, "b:9"))).back() ==
        R"(tell 3 {"be_at":"b:2"})");
  CHECK(shown(gathering.said(3, arrival({"map", 0, 1}, "b:2"))).back() ==
        R"(tell 3 {"hold":true})");
  CHECK(shown(gathering.wanted(1)) == Lines{"tell 3 " + cluster + R"({"MILLRACE_ATTEMPT":"2"}})"});
  (void)gathering.left(3);
  // Who is wanted before it has come is told when it has.
  CHECK(gathering.begins(1, 3, holds).empty());
  CHECK(gathering.wanted(1).empty());
  CHECK(shown(gathering.said(4, arrival({"map", 0, 1}, "b:2"))).back() ==
        "tell 4 " + cluster + R"({"MILLRACE_ATTEMPT":"3"}})");
}

TEST_CASE("who held a place and is lost may be followed by another, in the same attempt") {
  using enum Gathering::ForNow;
  Gathering gathering({.roles = {{.name = "map", .count = 1, .most = 2}}, .command = {"count"}},
                      "t");
  (void)gathering.begins(1, 1, holds);
  (void)gathering.said(1, arrival({"map", 0, 0}, "a:1"));
  (void)gathering.said(2, arrival({"map", 0, 1}, "b:2"));
  (void)gathering.left(2);
  CHECK(gathering.begins(1, 1).empty());
  CHECK(shown(gathering.said(3, arrival({"map", 0, 1}, "b:2"))).back() ==
        R"(tell 3 {"cluster":{"map":["a:1","b:2"]},"environment":{"MILLRACE_ATTEMPT":"1"}})");
}

TEST_CASE("answers read as what was told") {
  AllThere all{.environment = {{"A", "b"}}};
  REQUIRE(all.cluster.add_job("map", {"a:1", "b:2"}).ok());
  const auto read = parse_arrival_answer(to_line(ArrivalAnswer(all))).value();
  CHECK(std::get<AllThere>(read).cluster == all.cluster);
  CHECK(std::get<AllThere>(read).environment == all.environment);
  const auto missing =
      parse_arrival_answer(to_line(ArrivalAnswer(StillMissing{{"map:0"}, 2}))).value();
  CHECK(std::get<StillMissing>(missing).more == 2);
  const auto there = parse_arrival_answer(to_line(ArrivalAnswer(BeThere{"a:1"}))).value();
  CHECK(std::get<BeThere>(there).address == "a:1");
  const auto hold = parse_arrival_answer(to_line(ArrivalAnswer(HoldPlace{}))).value();
  CHECK(std::holds_alternative<HoldPlace>(hold));
  for (const char* none :
       {"", "[]", "{}", R"({"waiting_for": 1})", R"({"cluster": 1})", R"({"refused": 1})",
        R"({"be_at": "nowhere"})", R"({"cluster": {"map": ["a:1"]}, "environment": {"A": 1}})"})
    CHECK(!parse_arrival_answer(none).ok());
}

// Two of at most four.
JobSpec elastic() {
  return {.roles = {{.name = "map", .count = 2, .least = 1, .most = 4}}, .command = {"count"}};
}

TEST_CASE("absent tasks say where they can be, leave, and are not waited for again") {
  Gathering gathering(elastic(), "t", Gathering::Absent::announce);
  const Lines left = {R"(tell 3 {"leave":true})", "hang up 3"};
  CHECK(shown(gathering.said(3, arrival({"map", 0, 3}, "d:4"))) ==
        Lines{"came 3 d:4", left[0], left[1]});
  CHECK(gathering.left(3).empty());
  (void)gathering.said(2, arrival({"map", 0, 2}, "c:3"));
  (void)gathering.said(0, arrival({"map", 0, 0}, "a:1"));
  const Lines lines = shown(gathering.said(1, arrival({"map", 0, 1}, "b:2")));
  const std::string cluster = R"({"cluster":{"map":["a:1","b:2","c:3","d:4"]},"environment":)"
                              R"({"MILLRACE_ATTEMPT":"1"}})";
  CHECK(lines == Lines{"came 1 b:2", "tell 0 " + cluster, "tell 1 " + cluster,
                       "note all 4 tasks are there"});

  // One that is wanted comes back to where it said.
  CHECK(gathering.begins(3, 1).empty());
  CHECK(shown(gathering.said(4, arrival({"map", 0, 3}, "d:9"))) ==
        Lines{R"(tell 4 {"be_at":"d:4"})"});
  CHECK(shown(gathering.said(4, arrival({"map", 0, 3}, "d:4"))) ==
        Lines{"came 3 d:4", "tell 4 " + cluster});
}

TEST_CASE("one that is wanted before all were there comes back, and waits with the others") {
  Gathering gathering(elastic(), "t", Gathering::Absent::announce);
  (void)gathering.said(2, arrival({"map", 0, 2}, "c:3"));
  (void)gathering.said(3, arrival({"map", 0, 3}, "d:4"));
  CHECK(gathering.begins(2, 1).empty());
  CHECK(shown(gathering.said(5, arrival({"map", 0, 2}, "c:3"))) ==
        Lines{"came 2 c:3", R"(tell 5 {"waiting_for":["map:0","map:1"],"more":0})"});
  (void)gathering.said(0, arrival({"map", 0, 0}, "a:1"));
  CHECK(shown(gathering.said(1, arrival({"map", 0, 1}, "b:2"))).size() == 5);
}

TEST_CASE("of two tasks at one address the second has to choose another") {
  Gathering gathering(elastic(), "t", Gathering::Absent::announce);
  (void)gathering.said(2, arrival({"map", 0, 2}, "c:3"));
  CHECK(shown(gathering.said(1, arrival({"map", 0, 1}, "c:3"))) ==
        Lines{R"(tell 1 {"taken":true})"});
  CHECK(shown(gathering.said(1, arrival({"map", 0, 1}, "c:5"))).size() == 2);
}

}  // namespace
}  // namespace millrace

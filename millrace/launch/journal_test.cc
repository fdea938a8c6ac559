#include "millrace/launch/journal.h"

#include <doctest/doctest.h>

#include "millrace/base/random.h"
#include "millrace/launch/journal_sight.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using Stage = LauncherSight::Stage;

JobSpec words(std::vector<RoleSpec> roles = {{"files", 1}, {"map", 2}}) {
  return {.name = "words", .roles = std::move(roles), .until = {"map"}, .command = {"count"}};
}

// As launchers wrote them: one moment is a second after the other.
constexpr const char* kBegun =
    R"({"millrace_journal":1,"at":1000000000,"begun":100000000,"seed":5})"
    "\n";
constexpr const char* kBegunLate =
    R"({"millrace_journal":1,"at":1000000000,"begun":100000000,"seed":5,"late":true})"
    "\n";
constexpr const char* kStarted = R"({"at":1000000001,"started":0})"
                                 "\n"
                                 R"({"at":1000000002,"started":1})"
                                 "\n"
                                 R"({"at":1000000003,"started":2})"
                                 "\n";

KeptSight kept(const std::string& text, LauncherSight launcher = {}, size_t num_tasks = 3) {
  return {.journal = parse_journal(text, num_tasks),
          .launcher = std::move(launcher),
          .log_directory = "logs",
          .submitted_micros = 90'000'000,
          .now_micros = 110'000'000};
}

JobSight look(const std::string& text, const LauncherSight& launcher = {}) {
  return sight_of(words(), kept(text, launcher));
}

TEST_CASE("what a launcher saw is seen again by whoever reads its journal, word for word") {
  const JobSpec job =
      words({{"files", 1},
             {.name = "map", .count = 2, .restart = {.when = RestartPolicy::When::on_failure}}});
  const JournalStart start{.at = Clock::Time(5s), .wall_micros = 7, .seed = 3, .time_limit = 90s};
  TaskEnds told{.how = TaskEnds::How::failed,
                .code = Code::unavailable,
                .is_consequence = true,
                .by = "files:0",
                .error = "UnavailableError: gone"};
  const std::vector<JournalEntry> entries = {
      {Clock::Time(5s), SupervisionEvent(TaskStarted{0})},
      {Clock::Time(5s), SupervisionEvent(TaskStarted{1})},
      {Clock::Time(5s), TaskCame{1, "10.0.0.8:7", "n1", 40124}},
      {Clock::Time(6s),
       SupervisionEvent(TasksEnded{
           {{1, {.code = 3, .first_error_line = "a", .last_error_line = "b \xff"}, 42}}})},
      {Clock::Time(8s), SupervisionEvent(TimePassed{})},
      {Clock::Time(8s), SupervisionEvent(TaskStarted{1})},
      {Clock::Time(9s), SupervisionEvent(TaskWaits{1, {"files:0"}})},
      {Clock::Time(10s), SupervisionEvent(TasksEnded{
                             {{0, {.signal = 9, .lost = true}}, {1, {.code = 1, .told = told}}}})},
      {Clock::Time(11s), SupervisionEvent(Interrupted{"SIGTERM"})},
      {Clock::Time(12s), LaunchOver{}}};
  SeededRandom live_random(start.seed);
  Supervision live = supervision_of(job, start, live_random);
  std::string text = to_line(start);
  for (const JournalEntry& entry : entries) {
    text += to_line(entry);
    if (const auto* event = std::get_if<SupervisionEvent>(&entry.what)) live.on(*event, entry.at);
  }
  const Journal journal = parse_journal(text, 3);
  CHECK(journal.is_over());
  REQUIRE(journal.entries.size() == entries.size());
  CHECK(std::get<TaskCame>(journal.entries[2].what).guests == 40124);
  SeededRandom random(journal.start->seed);
  Supervision read = supervision_of(job, *journal.start, random);
  for (const JournalEntry& entry : journal.entries)
    if (const auto* event = std::get_if<SupervisionEvent>(&entry.what)) read.on(*event, entry.at);
  CHECK(live.report().num_restarts >= 1);
  CHECK(render(read.report()) == render(live.report()));
  CHECK(sight_of(job, {.journal = journal}).report.cause == live.report().cause);
}

TEST_CASE("a journal ends before a line that is not whole or makes no sense") {
  const std::string whole = str_cat(kBegun, kStarted);
  CHECK(parse_journal(whole, 3).entries.size() == 3);
  for (size_t size = 0; size <= whole.size(); ++size)
    CHECK(parse_journal(whole.substr(0, size), 3).entries.size() <= 3);
  for (const char* line :
       {"nonsense", "{}", "[]", R"({"at":1})", R"({"at":1,"started":3})",
        R"({"at":1,"started":-1})", R"({"at":"x","started":0})", R"({"at":1,"scaled":3,"to":1})",
        R"({"at":1,"scaled":1,"to":0})", R"({"at":1,"scaled":1,"to":4})", R"({"at":1,"scaled":1})",
        R"({"at":1,"ended":[{"task":99}]})", R"({"at":1,"ended":[7]})", R"({"at":1,"ended":{}})"})
    CHECK(parse_journal(str_cat(whole, line, "\n", R"({"at":1,"over":true})", "\n"), 3)
              .entries.size() == 3);
  CHECK(!parse_journal("{\"millrace_journal\":2,\"at\":1}\n", 3).start);
}

TEST_CASE("a job that has not begun says what it waits for, each role what its part does") {
  const JobSight sight =
      look("", {.stage = Stage::pending, .waits = {"no machine", "others"}, .is_stuck = true});
  CHECK(sentence(sight) ==
        "words: 0 of 3 tasks run; files:0 waits: no machine; map:0 and 1 more wait: others");
  CHECK(sight.tasks[0].is_stuck);
  CHECK(sentence(look("")) ==
        "words: 0 of 3 tasks run; files:0 and 2 more wait: its launcher is being started");
}

TEST_CASE("tasks elsewhere run when all have come") {
  std::string text =
      str_cat(kBegunLate, kStarted,
              R"({"at":1500000000,"came":1,"address":"10.0.0.8:40","machine":"n1"})", "\n");
  JobSight sight = look(text);
  CHECK(sight.stage == JobStage::pending);
  CHECK(sight.tasks[0].text == "it is being brought to its machine");
  CHECK(sight.tasks[1].text == "the other tasks are not there yet");
  CHECK(sight.tasks[1].where == "n1");
  text +=
      "{\"at\":1600000000,\"came\":0,\"address\":\"n2:41\"}\n{\"at\":1600000000,\"came\":2,"
      "\"address\":\"n2:42\"}\n";
  sight = look(text);
  CHECK(sight.stage == JobStage::running);
  CHECK(sentence(sight) == "words: 3 of 3 tasks run");
  CHECK(sight.tasks[2].handle == "logs/map_1.log");
}

TEST_CASE("a job is ending while its helpers are, and has ended when its launcher is done") {
  std::string text =
      str_cat(kBegun, kStarted,
              R"({"at":3000000000,"ended":[{"task":1,"code":0},{"task":2,"code":0}]})", "\n");
  CHECK(sentence(look(text)) == "words: succeeded in 10 s; 1 task still runs");
  // Only of what is over is known how long it took.
  CHECK_FALSE(look(text).report.tasks[0].time);
  CHECK(look(text).report.tasks[1].time);
  text += R"({"at":3500000000,"ended":[{"task":0,"signal":15}]})"
          "\n";
  CHECK(look(text).stage == JobStage::ending);
  text += R"({"at":3600000000,"over":true})"
          "\n";
  const JobSight sight = look(text);
  CHECK(sight.stage == JobStage::ended);
  CHECK(render(sight) ==
        "task     where  attempt  state\n"
        "files:0  -      1        stopped: job finished\n"
        "map:0    -      1        completed\n"
        "map:1    -      1        completed\n"
        "words: succeeded in 2.5 s\n");
  CHECK(ended_at_micros(kept(text)) == 102'600'000);
  CHECK(exit_code(sight) == 0);
}

TEST_CASE("a job whose launcher was taken away has failed for that, and so have tasks that ran") {
  const LauncherSight lost{.stage = Stage::gone, .why = "n1, where its launcher ran, is lost"};
  const std::string text =
      str_cat(kBegun, kStarted, R"({"at":2000000000,"ended":[{"task":1,"code":0}]})", "\n");
  const JobSight sight = look(text, lost);
  CHECK(render(sight) ==
        "task     where  attempt  state\n"
        "files:0  -      1        n1, where its launcher ran, is lost\n"
        "map:0    -      1        completed\n"
        "map:1    -      1        n1, where its launcher ran, is lost\n"
        "words: failed after 1.0 s: n1, where its launcher ran, is lost\n");
  CHECK(exit_code(sight) == 1);
  CHECK(look(str_cat(kBegun, kStarted), lost).stage == JobStage::ended);
  // What was decided before stays so.
  const JobSight decided = look(
      str_cat(text, R"({"at":2500000000,"ended":[{"task":2,"code":3,"last":"ValueError"}]})", "\n"),
      lost);
  CHECK(decided.report.cause == "map:1: exit code 3");
  CHECK(decided.tasks[0].text == "stopped: map:1 failed");
}

TEST_CASE("a job that somebody cancels was interrupted, before it began and after") {
  const LauncherSight cancelled{.stage = Stage::gone, .why = "scancel, by 1000", .cancelled = true};
  CHECK(sentence(look("", cancelled)) == "words: ended after 0.0 s: scancel, by 1000");
  const JobSight sight = look(str_cat(kBegun, kStarted), cancelled);
  CHECK(sight.report.cause == "interrupted by scancel, by 1000");
  CHECK(sight.tasks[1].text == "interrupted");
  CHECK(exit_code(sight) == 130);
}

TEST_CASE("a launcher that could not begin is told with its last words") {
  KeptSight seen = kept("", {.stage = Stage::gone, .why = "could not begin (FAILED)"});
  seen.launcher_words = "millrace run: no such file";
  const JobSight sight = sight_of(words(), seen);
  CHECK(sight.report.cause == "could not begin (FAILED): millrace run: no such file");
  CHECK(sight.tasks[2].text == "never started");
  CHECK(exit_code(sight) == 1);
}

// A second life of a job, of which each task had been there once before, and map:1 twice.
constexpr const char* kBegunAgain =
    R"({"millrace_journal":1,"at":5000000000,"begun":105000000,"seed":5,"life":2,)"
    R"("why":"it was preempted","attempts":[1,1,2]})"
    "\n";

TEST_CASE("what a later life of a job begins with, and a warning, stand in its first line") {
  JournalStart start{.at = Clock::Time(5s), .warning = TimeWarning{20s, 10}};
  start.life = 3;
  start.why = "it was preempted";
  start.attempts = {1, 0, 2};
  const Journal journal = parse_journal(to_line(start), 3);
  REQUIRE(journal.start);
  CHECK(to_line(*journal.start) == to_line(start));
  CHECK(journal.start->warning == start.warning);
  CHECK(journal.start->attempts == start.attempts);
  CHECK(begun_again_text(*journal.start) == "begun again 2 times, last: it was preempted");
  CHECK(attempts_in(parse_journal(str_cat(kBegunAgain, kStarted), 3), 3) == std::vector{2, 2, 3});
}

TEST_CASE("a job that waits to begin again has not ended, and what its tasks wrote is there") {
  const std::string over =
      str_cat(kBegun, kStarted,
              R"({"at":2000000000,"interrupted":"SIGTERM"})"
              "\n"
              R"({"at":2000000001,"ended":[{"task":0,"signal":15},{"task":1,"signal":15},)"
              R"({"task":2,"signal":15}]})"
              "\n"
              R"({"at":2000000002,"over":true})"
              "\n");
  KeptSight seen = kept(over, {.stage = Stage::pending,
                               .waits = {"others come before it"},
                               .again = "it was preempted, and is queued again"});
  seen.may_begin_again = seen.is_between_lives = true;
  JobSight sight = sight_of(words(), seen);
  CHECK(sight.stage == JobStage::pending);
  CHECK(sentence(sight) ==
        "words: 0 of 3 tasks run; files:0 and 2 more wait: it was preempted, and is queued again: "
        "others come before it");
  REQUIRE(sight.earlier.size() == 3);
  CHECK(sight.earlier[2].handle == "logs/map_1.log");
  CHECK(!ended_at_micros(seen));
  // Its manager has not said yet what becomes of it; and then that somebody cancelled it.
  seen.is_between_lives = false;
  seen.launcher = {};
  CHECK(sight_of(words(), seen).stage == JobStage::ending);
  seen.launcher = {.stage = Stage::gone, .why = "scancel", .cancelled = true};
  sight = sight_of(words(), seen);
  CHECK(sight.stage == JobStage::ended);
  CHECK(exit_code(sight) == 130);
}

TEST_CASE("a job that was begun again says so, and its attempts are counted on") {
  const JobSight sight = look(str_cat(kBegunAgain, R"({"at":5000000001,"started":2})", "\n"));
  CHECK(
      sentence(sight).starts_with("words: 1 of 3 tasks run (begun again once: it was preempted)"));
  CHECK(sight.tasks[2].attempt == 3);
  CHECK(sight.tasks[2].handle == "logs/map_1.3.log");
  REQUIRE(sight.earlier.size() == 4);
  CHECK(sight.earlier[0].handle == "logs/files_0.log");
  CHECK(sight.earlier[3].handle == "logs/map_1.2.log");
}

TEST_CASE("a job that has not begun ended when it was submitted, if that is known") {
  KeptSight seen = kept("", {.stage = Stage::gone});
  CHECK(ended_at_micros(seen) == 90'000'000);
  // Its time can't be over.
  seen.submitted_micros = 0;
  CHECK(!ended_at_micros(seen).has_value());
}

TEST_CASE("a task that comes again is pending in between, and its attempts are kept") {
  const JobSpec job =
      words({{"files", 1},
             {.name = "map", .count = 2, .restart = {.when = RestartPolicy::When::on_failure}}});
  std::string text =
      str_cat(kBegun, kStarted, R"({"at":2000000000,"ended":[{"task":1,"code":3}]})", "\n");
  JobSight sight = sight_of(job, kept(text));
  CHECK(sight.stage == JobStage::pending);
  CHECK(sight.tasks[1].stage == TaskStage::pending);
  CHECK(sight.tasks[1].text == "starts again after: exit code 3");
  REQUIRE(sight.earlier.size() == 1);
  CHECK(sight.earlier[0].handle == "logs/map_0.log");
  text += "{\"at\":9000000000,\"time\":true}\n";
  CHECK(sight_of(job, kept(text)).tasks[1].stage == TaskStage::pending);
  text += "{\"at\":9000000001,\"started\":1}\n";
  sight = sight_of(job, kept(text));
  CHECK(sight.stage == JobStage::running);
  CHECK(sight.tasks[1].attempt == 2);
  CHECK(sight.tasks[1].handle == "logs/map_0.2.log");
  CHECK(sight.earlier.size() == 1);
}

TEST_CASE("a role that grew and shrank is seen at its size, and who was taken away is shown") {
  const JobSpec job = words({{"files", 1}, {.name = "map", .count = 1, .most = 3}});
  std::string text = str_cat(kBegun, R"({"at":1000000000,"started":0})", "\n",
                             R"({"at":1000000000,"started":1})", "\n");
  const auto seen = [&] { return sight_of(job, kept(text, {}, 4)); };
  CHECK(sentence(seen()) == "words: 2 of 2 tasks run");
  CHECK(render(seen()).find("map:1") == std::string::npos);
  text += to_line(
      JournalEntry{Clock::Time(2s),
                   SupervisionEvent(RoleScaled{.role = 1, .count = 3, .by = "anna", .wish = "7"})});
  CHECK(seen().stage == JobStage::pending);
  CHECK(sentence(seen()) ==
        "words: 2 of 4 tasks run; map:1 and 1 more wait: its launcher has not started it yet");
  text += R"({"at":2000000000,"started":2})"
          "\n"
          R"({"at":2000000000,"started":3})"
          "\n"
          R"({"at":3000000000,"scaled":1,"to":2,"by":"anna","wish":"8"})"
          "\n"
          R"({"at":3500000000,"ended":[{"task":3,"signal":15}]})"
          "\n"
          R"({"at":3600000000,"refused":"the job is ending","wish":"9"})"
          "\n";
  const JobSight sight = seen();
  CHECK(sentence(sight) == "words: 3 of 3 tasks run");
  CHECK(sight.stage == JobStage::running);
  CHECK(sight.tasks[3].stage == TaskStage::absent);
  CHECK(sight.tasks[3].text == "scaled down");
  CHECK(sight.tasks[3].handle == "logs/map_2.log");
  CHECK(news(sight_of(job, kept(text.substr(0, text.find("\"at\":35") - 1), {}, 4)), sight) ==
        std::vector<std::string>{"map:2 is gone: scaled down"});
}

TEST_CASE("elsewhere, a task that is started again runs when it has come again") {
  const JobSpec job =
      words({{.name = "map", .count = 1, .restart = {.when = RestartPolicy::When::always}}});
  std::string text =
      str_cat(kBegunLate, R"({"at":1000000000,"started":0})", "\n",
              R"({"at":1000000000,"came":0,"address":"n1:40"})", "\n",
              R"({"at":2000000000,"ended":[{"task":0,"code":3}]})", "\n",
              R"({"at":4000000000,"time":true})", "\n", R"({"at":4000000000,"started":0})", "\n");
  const auto seen = [&] { return sight_of(job, kept(text, {}, 1)).tasks[0]; };
  CHECK(seen().stage == TaskStage::pending);
  CHECK(seen().text == "it is being brought to its machine n1, as soon as that has room");
  CHECK(seen().attempt == 2);
  text += R"({"at":5000000000,"came":0,"address":"n1:40"})"
          "\n";
  CHECK(seen().stage == TaskStage::running);
}

TEST_CASE("elsewhere, an absent task that has left waits for room when it is wanted") {
  const JobSpec job = words({{.name = "map", .count = 1, .most = 2}});
  std::string text =
      str_cat(kBegunLate, R"({"at":1000000000,"came":1,"address":"n2:41","machine":"n2"})", "\n",
              R"({"at":1100000000,"left":1})", "\n", R"({"at":1200000000,"started":0})", "\n",
              R"({"at":1300000000,"came":0,"address":"n1:40"})", "\n");
  const auto seen = [&] { return sight_of(job, kept(text, {}, 2)); };
  CHECK(seen().stage == JobStage::running);
  CHECK(seen().tasks[1].stage == TaskStage::absent);
  text += R"({"at":2000000000,"scaled":0,"to":2,"by":"anna","wish":"7"})"
          "\n"
          R"({"at":2100000000,"started":1})"
          "\n";
  CHECK(seen().stage == JobStage::running);
  CHECK(sentence(seen()).starts_with("words: 1 of 2 tasks run"));
  CHECK(seen().tasks[1].stage == TaskStage::pending);
  CHECK(seen().tasks[1].text == "it is being brought to its machine n2, as soon as that has room");
  text += R"({"at":3000000000,"came":1,"address":"n2:41","machine":"n2"})"
          "\n";
  CHECK(seen().tasks[1].stage == TaskStage::running);
}

TEST_CASE("elsewhere, an absent task that holds its place runs as soon as it is wanted") {
  const JobSpec job = words({{.name = "map", .count = 1, .most = 2}});
  std::string text = str_cat(kBegunLate, R"({"at":1000000000,"started":0})", "\n",
                             R"({"at":1000000000,"came":0,"address":"n1:40"})", "\n");
  const auto seen = [&] { return sight_of(job, kept(text, {}, 2)); };
  CHECK(seen().stage == JobStage::pending);
  text += R"({"at":2000000000,"came":1,"address":"n2:41"})"
          "\n";
  CHECK(sentence(seen()) == "words: 1 of 1 tasks run");
  text += R"({"at":3000000000,"scaled":0,"to":2,"by":"anna","wish":"7"})"
          "\n"
          R"({"at":3000000000,"started":1})"
          "\n";
  CHECK(sentence(seen()) == "words: 2 of 2 tasks run");
}

}  // namespace
}  // namespace millrace

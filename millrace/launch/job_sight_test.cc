#include "millrace/launch/job_sight.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

JobSight two_maps() { return {.name = "words", .tasks = {{.name = "map:0"}, {.name = "map:1"}}}; }

TEST_CASE("what several tasks wait for is told once, when it is new") {
  JobSight before = two_maps();
  JobSight now = before;
  for (TaskSight& task : now.tasks) task.text = "no machine has room";
  CHECK(news(before, now) ==
        std::vector<std::string>{"map:0 and 1 more wait: no machine has room"});
  CHECK(news(now, now).empty());
  CHECK(sentence(now) == "words: 0 of 2 tasks run; map:0 and 1 more wait: no machine has room");
}

TEST_CASE("that all tasks run is told once, and another attempt by its number") {
  JobSight before = two_maps();
  JobSight now = before;
  now.stage = JobStage::running;
  for (TaskSight& task : now.tasks) task.stage = TaskStage::running;
  CHECK(news(before, now) == std::vector<std::string>{"all 2 tasks run"});
  JobSight later = now;
  later.tasks[1].attempt = 2;
  CHECK(news(now, later) == std::vector<std::string>{"map:1 is started again: attempt 2"});
}

TEST_CASE("status is a table and a sentence") {
  JobSight sight = two_maps();
  sight.stage = JobStage::ended;
  sight.report = {
      .end = JobEnd::failed, .cause = "map:1: exit code 3", .time = std::chrono::seconds(12)};
  sight.tasks[0] = {.name = "map:0", .stage = TaskStage::ended, .text = "completed", .where = "n1"};
  sight.tasks[1] = {
      .name = "map:1", .stage = TaskStage::ended, .text = "exit code 3", .where = "n2"};
  CHECK(render(sight) ==
        "task   where  attempt  state\n"
        "map:0  n1     1        completed\n"
        "map:1  n2     1        exit code 3\n"
        "words: failed after 12 s: map:1: exit code 3\n");
  CHECK(exit_code(sight) == 1);
}

TEST_CASE("a list has a line for each job") {
  JobSight sight = two_maps();
  sight.age = std::chrono::seconds(90);
  CHECK(render(std::vector<JobSight>{sight}) ==
        "job    state    age         tasks\n"
        "words  pending  1 min 30 s  0 of 2 run\n");
}

}  // namespace
}  // namespace millrace

#include "millrace/cluster/departures.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

const TaskName kMap7{"map", 0, 7};

ClusterSpec cluster() {
  ClusterSpec made;
  CHECK(made.add_job("files", {"a:1"}).ok());
  CHECK(made.add_task("map", 7, "b:1").ok());
  return made;
}

TEST_CASE("a departure is of one life of a task: another life is there") {
  Departures departures(cluster().tasks());
  CHECK(!departures.has(kMap7));
  CHECK(!departures.answers(kMap7, 5));
  CHECK(departures.note({kMap7, 5}).ok());
  CHECK(departures.has(kMap7));
  CHECK(departures.answers(kMap7, 5));
  CHECK(departures.has(kMap7));
  CHECK(!departures.answers(kMap7, 6));
  CHECK(!departures.has(kMap7));
}

TEST_CASE("what is known is listed; a task that nobody knows is refused") {
  Departures departures(cluster().tasks());
  CHECK(departures.note({{"map", 0, 8}, 5}).code() == Code::invalid_argument);
  CHECK(departures.list().empty());
  CHECK(departures.note({kMap7, 5}).ok());
  CHECK(departures.note({kMap7, 6}).ok());
  CHECK(departures.note({{"files", 0, 0}, 9}).ok());
  const auto all = departures.list();
  REQUIRE(all.size() == 2);
  CHECK(all[0].task.job == "files");
  CHECK(all[1].incarnation == 6);
}

TEST_CASE("who watches is told of what is new, until it ceases to") {
  Departures departures(cluster().tasks());
  std::vector<TaskName> told;
  auto watch = departures.watch([&](const TaskName& task) { told.push_back(task); });
  CHECK(departures.note({kMap7, 5}).ok());
  CHECK(departures.note({kMap7, 5}).ok());
  CHECK(told == std::vector<TaskName>{kMap7});
  watch.reset();
  CHECK(departures.note({kMap7, 6}).ok());
  CHECK(told.size() == 1);
}

}  // namespace
}  // namespace millrace

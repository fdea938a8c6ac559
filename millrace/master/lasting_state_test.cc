// What must be there again for a session to go on.
#include "millrace/master/lasting_state.h"

#include "doctest/doctest.h"

#include "millrace/cluster/kept_device.h"
#include "millrace/plan/testing/whole_library.h"

namespace millrace {
namespace {

DeviceAttributes device_of(std::string_view job, uint64_t incarnation, std::string_view identity,
                           Keep keep = Keep::all) {
  return {.name = str_cat("/job:", job, "/replica:0/task:0/device:CPU:0"),
          .type = "CPU",
          .incarnation = incarnation,
          .description = identity.empty() ? "" : kept_device_description(identity, keep)};
}

wire::NodeDef placed(std::string name, std::string op, std::string where) {
  return {.name = name,
          .op = std::move(op),
          .device = std::move(where),
          .inputs = {},
          .attrs = {{"shared_name", name}}};
}

wire::GraphDef names_and_total() {
  wire::GraphDef graph;
  graph.nodes = {placed("names", "FIFOQueueV2", "/job:files/task:0"),
                 placed("total", "VariableV2", "/job:reduce/task:0/device:CPU:0"),
                 placed("words", "Placeholder", ""), placed("twice", "Mul", "/device:CPU:0")};
  return graph;
}

using Devices = std::vector<DeviceAttributes>;
const Devices kThreeTasks = {device_of("files", 1, "f"), device_of("map", 2, ""),
                             device_of("reduce", 3, "r")};

std::string loss(const wire::GraphDef& graph, const Devices& now,
                 const Devices& before = kThreeTasks) {
  return std::string(is_all_there(graph, testing::whole_library(), before, now).message());
}

TEST_CASE("a session may outlast tasks if any of them keeps its state") {
  CHECK(may_come_back(kThreeTasks));
  CHECK_FALSE(may_come_back(Devices{device_of("ps", 1, ""), device_of("worker", 2, "")}));
}

TEST_CASE("what started again with the state that it kept is all there") {
  CHECK(loss(names_and_total(), kThreeTasks).empty());
  const Devices now = {device_of("files", 4, "f"), device_of("map", 2, ""),
                       device_of("reduce", 5, "r")};
  CHECK(loss(names_and_total(), now).empty());
  CHECK(has_started_again(kThreeTasks, now));
  CHECK_FALSE(has_started_again(kThreeTasks, kThreeTasks));
}

TEST_CASE("a task that the graph does not name may be whatever it likes") {
  const Devices now = {device_of("files", 1, "f"), device_of("reduce", 3, "r")};
  CHECK(loss(names_and_total(), now).empty());
}

TEST_CASE("a task without its state is the end, and is named") {
  const Devices without = {device_of("files", 1, "f"), device_of("map", 2, ""),
                           device_of("reduce", 5, "")};
  CHECK(loss(names_and_total(), without)
            .find("/job:reduce/replica:0/task:0/device:CPU:0 has "
                  "started again without the state that it had") == 0);
  const Devices another = {device_of("files", 4, "g"), device_of("map", 2, ""),
                           device_of("reduce", 3, "r")};
  CHECK(loss(names_and_total(), another).find("/job:files") == 0);
  const Devices gone = {device_of("files", 1, "f")};
  CHECK(loss(names_and_total(), gone) ==
        "/job:reduce/replica:0/task:0/device:CPU:0 takes no part any more");
}

TEST_CASE("a task that never kept anything is the end once it has started again") {
  wire::GraphDef graph = names_and_total();
  graph.nodes.push_back(placed("seen", "VariableV2", "/job:map"));
  const Devices now = {device_of("files", 1, "f"), device_of("map", 7, ""),
                       device_of("reduce", 3, "r")};
  CHECK(loss(graph, now).find("keeps no state: start its task with --state DIR") !=
        std::string::npos);
}

TEST_CASE("what is not kept must not have been on a task that started again") {
  wire::GraphDef graph = names_and_total();
  graph.nodes.push_back(placed("table", "MutableHashTableV2", "/job:files"));
  CHECK(loss(graph, kThreeTasks).empty());
  const Devices now = {device_of("files", 4, "f"), device_of("map", 2, ""),
                       device_of("reduce", 3, "r")};
  CHECK(loss(graph, now).find("what 'table' (MutableHashTableV2) held there was not kept") !=
        std::string::npos);
  for (const char* op : {"VarHandleOp", "Assign", "AssignAdd", "ResourceGather", "Variable",
                         "RandomShuffleQueueV2", "PriorityQueue"}) {
    graph.nodes.back().op = op;
    CHECK_MESSAGE(loss(graph, now).empty(), op);
  }
  for (const char* op : {"ConditionalAccumulator", "Barrier", "Iterator", "StackV2", "MapStage"}) {
    graph.nodes.back().op = op;
    CHECK_FALSE_MESSAGE(loss(graph, now).empty(), op);
  }
}

TEST_CASE("a queue that nobody shares ended with the task, and with it the session") {
  wire::GraphDef graph = names_and_total();
  graph.nodes[0].attrs.clear();
  const Devices now = {device_of("files", 4, "f"), device_of("map", 2, ""),
                       device_of("reduce", 3, "r")};
  CHECK(loss(graph, now)
            .find("what 'names' (FIFOQueueV2) held there was not kept: only variables "
                  "and queues that have a shared_name are") != std::string::npos);
  graph.nodes[0].attrs = {{"_durable", true}};  // is shared by its node's name
  CHECK(loss(graph, now).empty());
}

TEST_CASE("of a task that keeps what asks, all that the graph has there must have asked") {
  const Devices before = {device_of("files", 1, "f", Keep::asked), device_of("map", 2, ""),
                          device_of("reduce", 3, "r", Keep::asked)};
  CHECK(may_come_back(before));
  wire::GraphDef graph = names_and_total();
  graph.nodes[0].attrs.emplace_back("_durable", true);
  const Devices files_again = {device_of("files", 4, "f", Keep::asked), device_of("map", 2, ""),
                               device_of("reduce", 3, "r", Keep::asked)};
  CHECK(loss(graph, files_again, before).empty());
  const Devices reduce_again = {device_of("files", 1, "f", Keep::asked), device_of("map", 2, ""),
                                device_of("reduce", 4, "r", Keep::all)};
  CHECK(loss(graph, reduce_again, before)
            .find("what 'total' (VariableV2) held there was not kept: only variables and queues "
                  "are that ask for it") != std::string::npos);
  // What it keeps from now on is another matter.
  graph.nodes[1].attrs.emplace_back("_durable", true);
  CHECK(loss(graph, reduce_again, before).empty());
}

}  // namespace
}  // namespace millrace

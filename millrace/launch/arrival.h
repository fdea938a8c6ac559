// What a task whose address nobody could know says when it is there, and what it is answered: one
// line of JSON each, over a connection to whoever supervises the job (gathering.h).
//
//   task       {"millrace_join": 1, "token": "…", "task": "map:1", "address": "10.0.0.8:40123",
//               "machine": "n8", "guests": 40124}
//   answer     {"waiting_for": ["map:0", "map:2"], "more": 5}          again and again, then
//              {"cluster": {"map": ["10.0.0.7:40001", …]}, "environment": {"A": "b"}}
//   or         {"refused": "map:1 has come already, at 10.0.0.9:40001"}
//   or         {"be_at": "10.0.0.8:40123"}       it has served there before; it says all again then
//   or         {"hold": true}                    all are there, and it is not wanted yet: it holds
//                                                its port until it is told the cluster, or to end
//   or         {"leave": true}                   it is not wanted yet, and has said where it can be
//   or         {"taken": true}                   another task has said so of that address: it
//                                                chooses another port, and says all again
//
// After the cluster, the same connection carries the task's record (cluster/task_record.h), in the
// one direction that is left. Pure: values, and functions between them and text.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/cluster/cluster_spec.h"
#include "millrace/launch/job.h"

namespace millrace {

// No task says more before it is answered.
inline constexpr size_t kLongestArrival = 4096;

struct Arrival {
  std::string token = {};
  TaskName task = {};
  std::string address = {};  // "host:port", where it will serve
  std::string machine = {};  // what its manager calls the machine that it is on; empty: not known
  int guests = 0;            // the port where commands are let in beside it; 0: nowhere
};

struct StillMissing {
  std::vector<std::string> tasks = {};  // "map:0"; the first of them
  int more = 0;                         // how many are left out
};
struct AllThere {
  ClusterSpec cluster = {};
  std::vector<EnvironmentEntry> environment = {};  // of the job and the task's role
};
struct NotWanted {
  std::string why = {};
};
// The others look for it at this address.
struct BeThere {
  std::string address = {};
};
// Its role is to have fewer tasks, for now.
struct HoldPlace {};
// The same, and it need not wait for that: it comes back to its address when it is wanted.
struct LeavePlace {};
// Others can't find two tasks at one address.
struct TakenAddress {};
using ArrivalAnswer =
    std::variant<StillMissing, AllThere, NotWanted, BeThere, HoldPlace, LeavePlace, TakenAddress>;

// With their ends.
std::string to_line(const Arrival& arrival);
std::string to_line(const ArrivalAnswer& answer);
// Errors: INVALID_ARGUMENT for what is none.
Result<Arrival> parse_arrival(std::string_view line);
Result<ArrivalAnswer> parse_arrival_answer(std::string_view line);

}  // namespace millrace

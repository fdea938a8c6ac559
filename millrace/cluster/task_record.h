// What a task tells about itself to whoever started it, as one line of JSON per event:
//
//   {"millrace_task": 1, "event": "started", "pid": 4711}
//   {"millrace_task": 1, "event": "serving", "task": "map:1", "address": "127.0.0.1:40123"}
//   {"millrace_task": 1, "event": "waiting", "task": "map:1", "what": "CreateSession",
//    "for": [{"task": "map:7", "address": "127.0.0.1:40129", "why": "UNAVAILABLE: …"}]}
//   {"millrace_task": 1, "event": "ended", "task": "map:1", "end": "failed", "code": "UNAVAILABLE",
//    "consequence": true, "by": "ps:0", "error": "UnavailableError: …"}
//
// docs/task_record.md is the manual of the format. Pure: values, and functions between them and
// text. What writes the lines is task_report.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/op/device_name.h"

namespace millrace {

// The program has begun and keeps a record.
struct TaskBegan {
  int64_t pid = 0;
};

// It answers at its address in the cluster.
struct TaskServes {
  std::string address = {};
};

// It can't go on before others have answered; told again as long as that is so.
struct TaskWaitsFor {
  struct Other {
    std::string task = {};  // "map:7"
    std::string address = {};
    std::string why = {};  // what a look at it says; may be empty
  };
  std::string what = {};  // what waits: "CreateSession"
  std::vector<Other> others = {};
  int more = 0;  // how many others are left out
};

// How it ends, told just before. A task that is killed tells nothing.
struct TaskEnds {
  enum class How : uint8_t {
    completed,
    input_exhausted,  // a queue that it read was closed and is empty
    failed,
  };
  How how = How::completed;
  Code code = Code::ok;         // OK: the error is none of ours (a ValueError, say)
  bool is_consequence = false;  // of another task's end
  std::string by = {};          // that task, "ps:0"; empty if it is not known
  std::string error = {};       // one line, as people read it: "ValueError: bad record"
  // The signal that asked it to end, and who sent that: "SIGTERM (signal 15), sent by process 4711
  // (sh)"; empty if none did.
  std::string stopped_by = {};
};

using TaskEvent = std::variant<TaskBegan, TaskServes, TaskWaitsFor, TaskEnds>;

struct TaskRecord {
  std::string task = {};  // "map:1"; empty where the program has not said yet which task it is
  TaskEvent event = {};
};

// A record is written whole by one write to a pipe, and fits whole into the 4096 bytes that
// Kubernetes keeps of a termination message.
inline constexpr size_t kLongestRecord = 4000;

// One line, with its end. Texts that are too long are cut.
std::string to_line(const TaskRecord& record);
// Nothing for a line that is no record, or one of an event that this reader does not know: a
// later version may have more events and more fields.
std::optional<TaskRecord> parse_task_record(std::string_view line);

// How a task ends that ends with this status; `error` is what people read, by default the status.
TaskEnds end_of(const Status& status, std::string_view error = {});

// "map:1"
std::string short_name(const TaskName& task);

// An error that says that a queue is closed and has no more: the end of the input, no failure.
// OUT_OF_RANGE alone is none: a bad index has that code too.
bool tells_end_of_input(std::string_view message);

}  // namespace millrace

#include "millrace/cluster/task_record.h"

#include <unistd.h>

#include <array>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/cluster/task_report.h"

namespace millrace {
namespace {

TEST_CASE("every event is one line, and reads back as it was") {
  struct Row {
    TaskRecord record;
    const char* line;
  };
  using How = TaskEnds::How;
  for (
      const Row& row : std::vector<Row>{
          {{"", TaskBegan{17}}, R"({"millrace_task":1,"event":"started","pid":17})"},
          {{"map:1", TaskServes{"a:1"}},
           R"({"millrace_task":1,"event":"serving","task":"map:1","address":"a:1"})"},
          {{"map:1", TaskWaitsFor{"CreateSession", {{"map:7", "b:1", "gone"}, {"ps:0", "c:1"}}}},
           R"({"millrace_task":1,"event":"waiting","task":"map:1","what":"CreateSession",)"
           R"("for":[{"task":"map:7","address":"b:1","why":"gone"},{"task":"ps:0","address":"c:1"}]})"},
          {{"map:1", TaskEnds{}},
           R"({"millrace_task":1,"event":"ended","task":"map:1","end":"completed"})"},
          {{"ps:0", TaskEnds{.stopped_by = "SIGTERM (signal 15), sent by process 7 (sh)"}},
           R"({"millrace_task":1,"event":"ended","task":"ps:0","end":"completed",)"
           R"x("stopped_by":"SIGTERM (signal 15), sent by process 7 (sh)"})x"},
          {{"map:1", TaskEnds{How::failed, Code::unavailable, true, "ps:0", "gone"}},
           R"({"millrace_task":1,"event":"ended","task":"map:1","end":"failed",)"
           R"("code":"UNAVAILABLE","consequence":true,"by":"ps:0","error":"gone"})"},
      }) {
    const std::string line = to_line(row.record);
    CHECK(line == str_cat(row.line, "\n"));
    const auto read = parse_task_record(line);
    REQUIRE(read);
    CHECK(to_line(*read) == line);
  }
}

TEST_CASE("a reader passes over what it does not know, and takes what is wrong for nothing") {
  for (const char* line : {"", "hello", "17", "[]", "{", R"({"event":"started"})",
                           R"({"millrace_task":2})", R"({"millrace_task":1,"event":"dreaming"})",
                           R"({"millrace_task":1,"event":"ended","end":"happily"})",
                           R"({"millrace_task":1,"event":["ended"]})"})
    CHECK_MESSAGE(!parse_task_record(line), line);
  const auto newer = parse_task_record(
      R"({"millrace_task":1,"event":"waiting","for":[3,{"task":7},{"task":"a:1"}],"mood":"good"})");
  REQUIRE(newer);
  CHECK(std::get<TaskWaitsFor>(newer->event).others.size() == 3);
}

TEST_CASE("a record is short whatever is told") {
  const std::string wild(100'000, '\x01');
  TaskWaitsFor waits{wild, {}, 0};
  for (int i = 0; i < 1000; ++i) waits.others.push_back({wild, wild, wild});
  for (const TaskEvent& event :
       std::vector<TaskEvent>{waits, TaskServes{wild},
                              TaskEnds{TaskEnds::How::failed, Code::internal, true, wild, wild}}) {
    const std::string line = to_line({wild, event});
    CHECK(line.size() <= kLongestRecord);
    CHECK(line.find('\n') == line.size() - 1);
    CHECK(parse_task_record(line));
  }
  CHECK(std::get<TaskWaitsFor>(parse_task_record(to_line({"", waits}))->event).more == 992);
}

TEST_CASE("a status tells how a task ends, and whose fault it is") {
  using How = TaskEnds::How;
  CHECK(end_of({}).how == How::completed);
  CHECK(end_of({}, "ValueError: bad").how == How::failed);
  const TaskEnds closed = end_of(out_of_range("queue 'q' is closed and has insufficient elements"));
  CHECK(closed.how == How::input_exhausted);
  CHECK(end_of(out_of_range("slice index 5")).how == How::failed);
  const TaskEnds lost =
      end_of(unavailable("From /job:map/replica:0/task:1:\n/job:ps/replica:0/task:12 is gone"));
  CHECK(lost.is_consequence);
  CHECK(lost.by == "map:1");
  CHECK(end_of(cancelled("/job:ps/replica:0/task:12, it seems")).by == "ps:12");
  CHECK(end_of(unavailable("/job:ps is gone")).by.empty());
  const TaskEnds own = end_of(invalid("/job:ps/replica:0/task:0 has no such device"));
  CHECK(!own.is_consequence);
  CHECK(own.by.empty());
  CHECK(own.error == "INVALID_ARGUMENT: /job:ps/replica:0/task:0 has no such device");
}

std::string all_of(int pipe) {
  std::string text;
  std::array<char, 4096> bytes;
  for (ssize_t size = 1; (size = read(pipe, bytes.data(), bytes.size())) > 0;)
    text.append(bytes.data(), static_cast<size_t>(size));
  return text;
}

TEST_CASE("a process tells on the descriptor that it was given, and of its end once") {
  std::array<int, 2> ends;
  REQUIRE(pipe(ends.data()) == 0);
  auto report = TaskReport::open(std::to_string(ends[1]).c_str(), "/nowhere").value();
  REQUIRE(report);
  report->set_task({"map", 0, 1});
  report->tell_end({.how = TaskEnds::How::failed, .error = "first"});
  report->tell_end({});
  report.reset();
  const std::string text = all_of(ends[0]);
  CHECK(text.find(R"("event":"started","pid":)") != text.npos);
  CHECK(text.find(R"("task":"map:1","end":"failed","consequence":false,"error":"first")") !=
        text.npos);
  CHECK(text.find("completed") == text.npos);
  close(ends[0]);
}

TEST_CASE("a launcher that does not read holds no task up") {
  std::array<int, 2> ends;
  REQUIRE(pipe(ends.data()) == 0);
  TaskReport report(ends[1]);
  for (int i = 0; i < 10'000; ++i) report.tell(TaskServes{"a:1"});
  close(ends[0]);
}

TEST_CASE("only an open descriptor that is no standard stream is one to report on") {
  CHECK(!TaskReport::open(nullptr, nullptr).value());
  CHECK(!TaskReport::open("", "").value());
  for (const char* text : {"x", "-1", "2", "99999", "4x"}) {
    const Status status = TaskReport::open(text, nullptr).status();
    CHECK(status.code() == Code::invalid_argument);
    CHECK(status.message().find(text) != std::string::npos);
  }
  CHECK(TaskReport::open(nullptr, "/no/such/folder/x").status().code() == Code::not_found);
}

}  // namespace
}  // namespace millrace

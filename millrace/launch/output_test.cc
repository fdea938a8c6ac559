// From the bytes that a task writes to the reason that is given for its end.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/launch/error_lines.h"
#include "millrace/launch/exit_reason.h"
#include "millrace/launch/job_report.h"
#include "millrace/launch/line_splitter.h"
#include "millrace/launch/peer_lines.h"
#include "millrace/launch/task_records.h"

namespace millrace {
namespace {

using Lines = std::vector<std::string>;

Lines split(const std::vector<std::string>& pieces) {
  Lines lines;
  LineSplitter splitter;
  auto sink = [&](std::string_view line) { lines.emplace_back(line); };
  for (const std::string& piece : pieces) splitter.feed(piece, sink);
  splitter.finish(sink);
  return lines;
}

TEST_CASE("lines come out whole, however the bytes arrive") {
  CHECK(split({"a\nb\n"}) == Lines{"a", "b"});
  CHECK(split({"a", "b\n", "\n", "c"}) == Lines{"ab", "", "c"});
  CHECK(split({"10%\r20%\r", "30%\r\n", "x\r", "\ny"}) == Lines{"10%", "20%", "30%", "x", "y"});
  CHECK(split({std::string("a\0b\xff\n", 5)}) == Lines{std::string("a\0b\xff", 4)});
  CHECK(split({}) == Lines{});
}

TEST_CASE("a line without an end comes in pieces") {
  constexpr size_t kMost = LineSplitter::kLongestLine;
  Lines lines = split({std::string(kMost + 10, 'x'), std::string(kMost, 'y'), "z\n"});
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == std::string(kMost, 'x'));
  CHECK(lines[1] == std::string(10, 'x') + std::string(kMost - 10, 'y'));
  CHECK(lines[2] == std::string(10, 'y') + "z");
}

ErrorLines errors_of(const Lines& lines) {
  ErrorLines errors;
  for (const std::string& line : lines) errors.note(Stream::err, line);
  return errors;
}

TEST_CASE("the lines that tell of the error are found among the others") {
  ErrorLines python = errors_of(
      {"starting", "Traceback (most recent call last):", "  File \"x.py\"", "    raise KeyError(1)",
       "KeyError: 1", "", "During handling of the above, another one occurred:", "ValueError: bad",
       "\t [[node x]]"});
  CHECK(python.first() == "KeyError: 1");
  CHECK(python.last() == "ValueError: bad");
  ErrorLines cpp = errors_of(
      {"terminate called after throwing an instance of 'std::runtime_error'", "  what():  bad"});
  CHECK(cpp.last() == "what():  bad");
  ErrorLines plain = errors_of({"something is off", "giving up", ""});
  CHECK(plain.first().empty());
  CHECK(plain.last() == "giving up");
  CHECK(errors_of({}).last().empty());
  CHECK(errors_of({"Error: " + std::string(100'000, 'x')}).last().size() == ErrorLines::kLongest);
  ErrorLines quiet;
  quiet.note(Stream::out, "all is well");
  CHECK(quiet.last().empty());
}

TEST_CASE("an error that begins with the name of a task goes on in the next line") {
  ErrorLines lines;
  lines.note(Stream::err, "millrace.errors.OutOfRangeError: From /job:files/replica:0/task:0:");
  lines.note(Stream::err, "FIFOQueue 'q' is closed and has insufficient elements");
  lines.note(Stream::err, "\t [[{{node take}}]]");
  CHECK(lines.last() ==
        "millrace.errors.OutOfRangeError: From /job:files/replica:0/task:0: "
        "FIFOQueue 'q' is closed and has insufficient elements");
  CHECK(lines.first() == lines.last());
  CHECK(lines.ends_with_error());
}

TEST_CASE("an error is a task's last words if only its notes follow") {
  CHECK(errors_of({"Traceback:", "ValueError: bad", "", "\t [[node x]]"}).ends_with_error());
  CHECK(!errors_of({"ValueError: bad", "going on"}).ends_with_error());
  CHECK(!errors_of({"giving up"}).ends_with_error());
}

TEST_CASE("a line that tells of waiting is known, and for whom") {
  const std::string_view line =
      "20:14:42.680 I CreateSession still waiting for response from worker: "
      "/job:map/replica:0/task:1 at 127.0.0.1:58929 (UNAVAILABLE: nothing listens there)";
  CHECK(waited_for(line) == "map:1");
  CHECK(!waited_for("still waiting for the session at grpc://127.0.0.1:48083"));
  CHECK(!waited_for("CreateSession still waiting for response from worker: /job:map"));
  CHECK(names_task(line, "map:1"));
  CHECK(names_task("From /job:map/replica:0/task:10 and /job:map/replica:0/task:1", "map:1"));
  CHECK(!names_task("From /job:map/replica:0/task:10:", "map:1"));
  CHECK(!names_task(line, "map:0"));
  CHECK(!names_task(line, "map"));
}

TEST_CASE("what is logged for information is no error, whatever it quotes") {
  const Lines information = {
      "20:14:42.680 I map:0: listens on localhost:2222",
      "20:14:42.680 I CreateSession still waiting for response from worker: (UNAVAILABLE: nobody)",
      "2017-04-10 12:00:00.123456: I tensorflow/core/x.cc:1] UNAVAILABLE: nobody"};
  CHECK(errors_of(information).last().empty());
  ErrorLines errors = errors_of({"ValueError: bad", information[0]});
  CHECK(errors.last() == "ValueError: bad");
  CHECK(errors.ends_with_error());
  CHECK(errors_of({"20:14:42.680 E map:0: UNAVAILABLE: gone"}).last() ==
        "20:14:42.680 E map:0: UNAVAILABLE: gone");
}

TEST_CASE("a task that was killed without warning is not blamed for what it wrote before") {
  const ExitFacts facts{.signal = 9, .last_error_line = "retrying after UNAVAILABLE: x"};
  CHECK(classify(facts, SentSignal::none).last_error_line.empty());
  ExitFacts crash = facts;
  crash.signal = 11;
  CHECK(classify(crash, SentSignal::none).last_error_line == facts.last_error_line);
}

TEST_CASE("the records of a task are kept, those of its last program above all") {
  const auto ended = [](const char* error) {
    return to_line({"map:1", TaskEnds{.how = TaskEnds::How::failed, .error = error}});
  };
  TaskRecords records;
  records.feed("no record\n{\"millrace_task\": 2}\n");
  CHECK(!records.are_kept());
  const std::string begun = to_line({"", TaskBegan{17}});
  records.feed(begun.substr(0, 9));
  records.feed(begun.substr(9));
  CHECK(records.are_kept());
  records.feed(ended("first"));
  CHECK(records.end()->error == "first");
  records.feed(begun);
  CHECK(!records.end());
  records.feed(to_line({"map:1", TaskWaitsFor{"CreateSession", {{"map:7"}, {"ps:0"}}}}));
  CHECK(records.take_waits() == std::vector<std::string>{"map:7", "ps:0"});
  CHECK(!records.take_waits());
}

TEST_CASE("every end has its reason") {
  const std::string closed =
      "OutOfRangeError: FIFOQueue '_0_q' is closed and has insufficient elements (requested 1, "
      "current size 0)";
  struct Row {
    ExitFacts facts;
    SentSignal sent;
    ExitKind kind;
    std::string text;
  };
  using enum ExitKind;
  using enum SentSignal;
  for (const Row& row : std::vector<Row>{
           {{.code = 0}, none, completed, "completed"},
           {{.code = 3}, none, failed, "exit code 3"},
           {{.code = 137}, none, failed, "exit code 137, as of SIGKILL (signal 9)"},
           {{.code = 255}, none, failed, "exit code 255"},
           {{.code = 1, .last_error_line = closed}, none, input_exhausted, "input exhausted"},
           {{.code = 1, .last_error_line = "OUT_OF_RANGE: End of sequence"},
            none,
            input_exhausted,
            "input exhausted"},
           {{.code = 1, .last_error_line = "OutOfRangeError: slice index 5 of dimension 0"},
            none,
            failed,
            "exit code 1"},
           {{.code = 1, .last_error_line = "MemoryError"},
            none,
            out_of_memory,
            "out of memory (exit code 1)"},
           {{.signal = 6, .last_error_line = "what():  std::bad_alloc"},
            none,
            out_of_memory,
            "out of memory (SIGABRT (signal 6))"},
           {{.signal = 9}, none, killed, "killed by SIGKILL (signal 9)"},
           {{.signal = 9, .out_of_memory_kill = true},
            none,
            out_of_memory,
            "out of memory (SIGKILL (signal 9))"},
           {{.signal = 11}, none, killed, "killed by SIGSEGV (signal 11)"},
           {{.signal = 15}, none, killed, "killed by SIGTERM (signal 15)"},
           {{.start_error = "no such file 'x'"},
            none,
            not_started,
            "could not start: no such file 'x'"},
           {{.signal = 15}, terminate, stopped, ""},
           {{.code = 0}, terminate, stopped, ""},
           {{.code = 143}, terminate, stopped, ""},
           {{.code = 1, .last_error_line = "x"}, terminate, stopped, "exit code 1"},
           {{.signal = 9}, kill, stopped, "SIGKILL was needed"},
           {{.signal = 9}, terminate, killed, "killed by SIGKILL (signal 9)"},
           {{.signal = 11}, terminate, killed, "killed by SIGSEGV (signal 11)"},
       }) {
    ExitReason reason = classify(row.facts, row.sent);
    CAPTURE(row.text);
    CHECK(reason.text == row.text);
    CHECK(reason.kind == row.kind);
  }
}

TEST_CASE("durations read like durations") {
  using namespace std::chrono_literals;
  CHECK(duration_text(0ms) == "0.0 s");
  CHECK(duration_text(2149ms) == "2.1 s");
  CHECK(duration_text(9960ms) == "10 s");
  CHECK(duration_text(59'600ms) == "1 min 0 s");
  CHECK(duration_text(200s) == "3 min 20 s");
  CHECK(duration_text(2h + 5min) == "2 h 5 min");
}

TEST_CASE("the table shows memory, and only a job that succeeded ends with code 0") {
  JobReport report{.end = JobEnd::succeeded,
                   .time = std::chrono::seconds(2),
                   .tasks = {{.name = "map:0",
                              .reason = {},
                              .text = "completed",
                              .time = std::chrono::milliseconds(1940),
                              .peak_memory = 31'400'000}}};
  CHECK(render(report) ==
        "task   exit reason  time   peak memory\n"
        "map:0  completed    1.9 s  31 MB\n"
        "job succeeded in 2.0 s\n");
  CHECK(exit_code(report) == 0);
  report.end = JobEnd::failed;
  CHECK(exit_code(report) == 1);
  report.end = JobEnd::interrupted;
  CHECK(exit_code(report) == 130);
}

}  // namespace
}  // namespace millrace

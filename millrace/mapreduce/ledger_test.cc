// The book of a job, second tries, and what travels over queues.
#include "millrace/mapreduce/ledger.h"

#include <string>

#include <doctest/doctest.h>

#include "millrace/mapreduce/backups.h"

namespace millrace::mapreduce {
namespace {

Report mapped(int64_t number, int64_t records, int64_t num_bad = 0) {
  return {.number = number,
          .file = str_cat("map-", number),
          .segments = {{str_cat("map-", number), 8, 10}},
          .counters = {{"records read", records}},
          .num_bad = num_bad,
          .aside = num_bad == 0 ? "" : str_cat("bad-", number)};
}
Report reduced(int64_t number) {
  return {.kind = PieceKind::reduce, .number = number, .file = str_cat("reduce-", number)};
}

TEST_CASE("of several reports of a piece the first counts") {
  Ledger ledger(0);
  ledger.add_split(10);
  ledger.add_split(30);
  CHECK(ledger.add_report(mapped(1, 5)));
  CHECK_FALSE(ledger.add_report(mapped(1, 7)));
  CHECK_FALSE(ledger.add_report({.number = 1, .failure = invalid("late")}));
  CHECK(ledger.failure().ok());
  CHECK_FALSE(ledger.is_mapped());
  CHECK(ledger.add_report(mapped(0, 1)));
  CHECK_FALSE(ledger.is_mapped());
  ledger.all_are_found();
  CHECK(ledger.is_mapped());
  CHECK(ledger.counters() == Counters{{"records read", 6}, {"bad records", 0}});
  CHECK(ledger.plan() == R"([["map-0",[[8,10]]],["map-1",[[8,10]]]])");
  ledger.reduce_begins(2);
  CHECK(ledger.add_report(reduced(1)));
  CHECK_FALSE(ledger.is_reduced());
  CHECK(ledger.add_report(reduced(0)));
  CHECK(ledger.is_reduced());
  CHECK(ledger.parts() == std::vector<std::string>{"reduce-0", "reduce-1"});
}

TEST_CASE("a report of a piece that there is not counts for nothing") {
  Ledger ledger(0);
  CHECK_FALSE(ledger.add_report(mapped(0, 5)));
  CHECK_FALSE(ledger.add_report(reduced(0)));
  ledger.add_split(1);
  CHECK_FALSE(ledger.add_report(mapped(-1, 5)));
  CHECK_FALSE(ledger.add_report(mapped(1, 5)));
  CHECK(ledger.counters() == Counters{{"bad records", 0}});
}

TEST_CASE("bad records of all pieces together end the job, and the first reason stays") {
  Ledger ledger(3);
  for (int i = 0; i < 3; ++i) ledger.add_split(1);
  ledger.add_report(mapped(0, 1, 2));
  ledger.add_bad(1, "gone.txt at 0");
  CHECK(ledger.failure().ok());
  ledger.add_report(mapped(1, 1, 1));
  CHECK(ledger.failure().message() == "4 records are bad, and max_bad=3 allows 3");
  ledger.fail(internal("later"));
  CHECK(ledger.failure().code() == Code::invalid_argument);
  CHECK(ledger.aside() == std::vector<std::string>{"bad-0", "bad-1"});
}

TEST_CASE("progress tells what is done, and how long the rest will take") {
  Ledger ledger(9);
  ledger.add_split(100);
  ledger.add_split(300);
  CHECK(ledger.progress(5) == "0 of 2 or more splits mapped, 0 records");
  ledger.add_report(mapped(0, 7, 2));
  CHECK(ledger.progress(5) == "1 of 2 or more splits mapped, 7 records, 2 bad");
  ledger.all_are_found();
  CHECK(ledger.progress(5) == "1 of 2 splits mapped, 7 records, 2 bad; 15 s left");
  ledger.reduce_begins(4);
  ledger.add_report(reduced(2));
  CHECK(ledger.progress(100) == "1 of 4 partitions reduced, 7 records, 2 bad; 5 min left");
  for (const int number : {0, 1, 3}) ledger.add_report(reduced(number));
  ledger.publish_begins();
  CHECK_FALSE(ledger.is_published());
  for (const int number : {2, 0, 2}) {
    Report put{.kind = PieceKind::publish, .number = number};
    ledger.add_report(std::move(put));
  }
  CHECK(ledger.progress(30) == "2 of 4 partitions put into the queue, 7 records, 2 bad; 30 s left");
  CHECK(duration_text(0.1) == "1 s");
  CHECK(duration_text(89) == "89 s");
  CHECK(duration_text(7500) == "2 h 5 min");
}

TEST_CASE("a piece is given out again when nothing is left to take and it takes long, and once") {
  const Clock::Time start{};
  const auto at = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  Backups backups(std::chrono::seconds(10));
  backups.note(std::chrono::seconds(20));
  CHECK(backups.due(1, {4, 7}, at(0)).empty());
  CHECK(backups.due(0, {4, 7}, at(100)).empty());
  CHECK(backups.due(0, {4, 7}, at(139)).empty());
  CHECK(backups.due(0, {4, 7}, at(140)) == std::vector<int64_t>{4, 7});
  CHECK(backups.due(0, {4, 7}, at(500)).empty());
  CHECK(Backups(std::nullopt).due(0, {1}, at(1'000'000)).empty());
}

TEST_CASE("pieces and reports come back as they were sent") {
  Piece piece{.number = 7,
              .split = {.path = "/t/a \"b\".txt", .begin = 3, .end = uint64_t{1} << 40},
              .partitions = 5,
              .work = "/o.unfinished-1f"};
  const Piece back = decode_piece(encode(piece)).value();
  CHECK(back.name() == "mapping /t/a \"b\".txt from 3");
  CHECK(back.split.end == uint64_t{1} << 40);
  CHECK(back.partitions == 5);
  CHECK(encode(back) == encode(piece));
  CHECK(decode_piece(encode(Piece{.is_over = true})).value().is_over);
  const Piece put =
      decode_piece(
          encode(Piece{.kind = PieceKind::publish, .number = 3, .split = {.path = "/o/reduce-3"}}))
          .value();
  CHECK(put.name() == "putting partition 3 into the queue");
  CHECK(put.split.path == "/o/reduce-3");
  const Report report = decode_report(encode(mapped(7, 3, 1))).value();
  CHECK(encode(report) == encode(mapped(7, 3, 1)));
  CHECK(report.segments.front().path == "map-7");
  CHECK(decode_report(encode(Report{.bye = "map:1"})).value().bye == "map:1");
  const Report failed =
      decode_report(
          encode({.kind = PieceKind::reduce, .number = 1, .failure = not_found("\xff no")}))
          .value();
  CHECK(failed.failure.code() == Code::not_found);
  CHECK(failed.failure.message() == "\ufffd no");
}

TEST_CASE("what is no piece, report or plan is told as damaged") {
  for (const char* text :
       {"", "[]", "{", "null", "{}",
        R"({"split":-1,"path":"p","begin":0,"end":0,"work":"w","partitions":1})",
        R"({"split":1,"path":7,"begin":0,"end":0,"work":"w","partitions":1})",
        R"({"split":1,"path":"p","begin":0,"end":0,"work":"w","partitions":0})",
        R"({"split":1,"path":"p","begin":0,"end":0,"work":"w","partitions":99999999})",
        R"({"split":1e300,"path":"p","begin":0,"end":0,"work":"w","partitions":1})",
        R"({"partition":1,"work":"w"})", R"({"publish":1})", R"({"publish":"1","path":"p"})",
        R"({"partition":18446744073709551615,"plan":"p","work":"w"})"}) {
    CHECK_MESSAGE(decode_piece(text).status().code() == Code::data_loss, text);
  }
  for (
      const char* text :
      {"", "{}", R"({"bye":1})", R"({"split":1,"failed":7})",
       R"({"split":1,"file":"f","bad":0,"aside":"","seconds":-1,"counters":{},"segments":[]})",
       R"({"split":1,"file":"f","bad":0,"aside":"","seconds":1,"counters":[1],"segments":[]})",
       R"({"split":1,"file":"f","bad":0,"aside":"","seconds":1,"counters":{"a":"b"},"segments":[]})",
       R"({"split":1,"file":"f","bad":0,"aside":"","seconds":1,"counters":{},"segments":[[1]]})",
       R"({"split":1,"file":"f","bad":0,"aside":"","seconds":1,"counters":{},"segments":[[1,-1]]})"}) {
    CHECK_MESSAGE(decode_report(text).status().code() == Code::data_loss, text);
  }
  for (const char* text : {"", "{}", "[1]", R"([["f"]])", R"([["f",[]]])", R"([["f",[[1,2]]]])",
                           R"([["f",[[1,2],["x",2]]]])"})
    CHECK_MESSAGE(decode_plan(text, 1).status().code() == Code::data_loss, text);
  CHECK(decode_plan(R"([["f",[[1,2],[3,4]]]])", 1).value().front().offset == 3);
}

}  // namespace
}  // namespace millrace::mapreduce

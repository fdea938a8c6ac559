// Tasks that stand in line, and the batches that they become.
#include "millrace/ops/exchange/batch_line.h"

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

Clock::Time at(int64_t seconds) { return Clock::Time(std::chrono::seconds(seconds)); }

// Batches of four rows, of which three may wait, each for ten seconds.
BatchRules fours() {
  return {.task_rows = 4, .batch_rows = 4, .waiting = 3, .timeout = std::chrono::seconds(10)};
}

// "1[0,2) 2[0,2)"
std::string taken(BatchLine& line) {
  std::string text;
  for (const BatchLine::Piece& piece : line.take())
    text += str_cat(text.empty() ? "" : " ", piece.task, "[", piece.begin, ",", piece.end, ")");
  return text;
}

TEST_CASE("a batch is due when it is full, or when its first task has waited long enough") {
  BatchLine line(fours());
  CHECK(line.due() == std::nullopt);
  REQUIRE(line.add(1, 2, "k", at(1)).ok());
  REQUIRE(line.add(2, 1, "k", at(3)).ok());
  CHECK(line.due() == at(11));
  REQUIRE(line.add(3, 1, "k", at(4)).ok());
  CHECK(line.due() == Clock::Time::min());
  CHECK(taken(line) == "1[0,2) 2[0,1) 3[0,1)");
  CHECK(line.empty());
}

TEST_CASE("what does not fit begins another batch, and the one before it goes") {
  BatchLine line(fours());
  REQUIRE(line.add(1, 3, "k", at(1)).ok());
  REQUIRE(line.add(2, 2, "k", at(2)).ok());
  CHECK(line.due() == Clock::Time::min());
  CHECK(taken(line) == "1[0,3)");
  CHECK(line.due() == at(12));
}

TEST_CASE("rows of another kind are not put together") {
  BatchLine line(fours());
  REQUIRE(line.add(1, 1, "float", at(1)).ok());
  REQUIRE(line.add(2, 1, "string", at(1)).ok());
  CHECK(line.batches() == 2);
}

TEST_CASE("too many rows, and more batches than may wait, are refused") {
  BatchLine line(fours());
  CHECK(line.add(1, 5, "k", at(1)).message() ==
        "Task size 5 is larger than maximum input batch size 4");
  for (const uint64_t task : {1, 2, 3}) REQUIRE(line.add(task, 4, "k", at(1)).ok());
  const Status full = line.add(4, 1, "k", at(1));
  CHECK(full.code() == Code::unavailable);
  CHECK(full.message() ==
        "The batch scheduling queue to which this task was submitted is full; 3 batches wait, and "
        "max_enqueued_batches is 3");
}

TEST_CASE("a large task is cut up where that is asked for, and fills what is open first") {
  BatchRules rules = fours();
  rules.task_rows = 10;
  rules.splits = true;
  BatchLine line(rules);
  REQUIRE(line.add(1, 3, "k", at(1)).ok());
  REQUIRE(line.add(2, 7, "k", at(1)).ok());
  CHECK(taken(line) == "1[0,3) 2[0,1)");
  CHECK(taken(line) == "2[1,5)");
  CHECK(line.due() == at(11));
  CHECK(taken(line) == "2[5,7)");

  rules.task_rows = int64_t{1} << 40;
  CHECK(BatchLine(rules).add(1, rules.task_rows, "k", at(1)).code() == Code::invalid_argument);
}

TEST_CASE("who leaves the line leaves its batches, and empty ones are gone") {
  BatchLine line(fours());
  REQUIRE(line.add(1, 3, "k", at(1)).ok());
  REQUIRE(line.add(2, 1, "k", at(2)).ok());
  REQUIRE(line.add(3, 1, "k", at(3)).ok());
  line.remove(1);
  line.remove(3);
  line.remove(7);
  CHECK(line.batches() == 1);
  CHECK(line.rows() == 1);
  CHECK(line.due() == at(12));
}

TEST_CASE("tasks for which an allowed size has no place wait on, if padding is to be avoided") {
  BatchRules rules = fours();
  rules.task_rows = rules.batch_rows = 8;
  rules.sizes = {2, 4, 8};
  rules.rounds_down = true;
  CHECK(rules.padded(5) == 8);
  BatchLine line(rules);
  for (const uint64_t task : {1, 2, 3, 4, 5})
    REQUIRE(line.add(task, 1, "k", at(int64_t(task))).ok());
  CHECK(taken(line) == "1[0,1) 2[0,1) 3[0,1) 4[0,1)");
  CHECK(line.due() == at(15));
  CHECK(taken(line) == "5[0,1)");

  SUBCASE("but not where a task would have to be cut") {
    REQUIRE(line.add(1, 3, "k", at(1)).ok());
    REQUIRE(line.add(2, 2, "k", at(1)).ok());
    CHECK(taken(line) == "1[0,3) 2[0,2)");
  }
}

}  // namespace
}  // namespace millrace

// The leader's book: who comes to which group, and what becomes of it when one is lost.
#include "millrace/worker/group_book.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

std::string device(int task) { return str_cat("/job:w/replica:0/task:", task, "/device:CPU:0"); }

// Two members of group 7, and what they are told.
struct Book {
  GroupBook book;
  uint64_t ticket = 0;
  std::string epoch = "e1";

  std::vector<GroupBook::Answer> come(int task, uint64_t incarnation, std::string lost = {},
                                      int64_t size = 2) {
    return book.come({.ticket = ++ticket,
                      .key = 7,
                      .size = size,
                      .member = {device(task), incarnation},
                      .lost_epoch = std::move(lost)},
                     epoch);
  }
  std::vector<GroupBook::Source> ask(int task, bool is_source, std::string of = "e1") {
    return book.ask({.ticket = ++ticket,
                     .key = 7,
                     .epoch = std::move(of),
                     .instance = "3",
                     .device = device(task),
                     .is_source = is_source});
  }
};

TEST_CASE("a group is there when all have come, with ranks in order of tasks") {
  Book book;
  CHECK(book.come(10, 100).empty());
  const auto answers = book.come(9, 90);
  REQUIRE(answers.size() == 2);
  for (const auto& answer : answers) {
    REQUIRE(answer.group.ok());
    CHECK(answer.group->epoch == "e1");
    CHECK(answer.group->members == std::vector<GroupMember>{{device(9), 90}, {device(10), 100}});
    CHECK(answer.group->rank_of(device(10)) == 1);
  }
  // Who asks again is told at once.
  CHECK(book.come(9, 90).at(0).group->epoch == "e1");
}

TEST_CASE("another size and a device too many are refused in TensorFlow's words") {
  Book book;
  book.come(0, 1);
  CHECK(book.come(1, 2, {}, 3)
            .at(0)
            .group.status()
            .message()
            .find("has group_size 3 and group_key 7 but that group has size 2") !=
        std::string::npos);
  book.come(1, 2);
  CHECK(book.come(2, 3).at(0).group.status().message().find(
            "and group_key 7 but that group doesn't contain that device.") != std::string::npos);
}

TEST_CASE("who starts again dissolves the group, and who waits for its end hears of it") {
  Book book;
  book.come(0, 1);
  book.come(1, 2);
  CHECK(book.ask(0, false).empty());
  const uint64_t watch = book.ticket;
  book.epoch = "e2";
  const auto answers = book.come(1, 22);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].ticket == watch);
  CHECK(answers[0].group.status() ==
        aborted("group 7 of 2 was given up: ", device(1), " has started again"));
  const auto formed = book.come(0, 1, "e1");
  REQUIRE(formed.size() == 2);
  CHECK(formed[0].group->epoch == "e2");
  CHECK(formed[0].group->members[1].incarnation == 22);
}

TEST_CASE("a member that has lost another one ends the group for all") {
  Book book;
  book.come(0, 1);
  book.come(1, 2);
  book.ask(1, false);
  CHECK(book.book.lose(7, "e0", "old news").empty());
  const auto answers = book.book.lose(7, "e1", "it broke");
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].group.status() == aborted("group 7 of 2 was given up: it broke"));
  CHECK(book.come(0, 1).empty());
}

TEST_CASE("who asks about a group that has ended hears why, however late") {
  Book book;
  book.come(0, 1);
  book.come(1, 2);
  book.book.lose(7, "e1", "it broke");
  book.epoch = "e2";
  book.come(0, 1, "e1");
  book.come(1, 2, "e1");
  CHECK(book.ask(1, false).at(0).rank.status() == aborted("group 7 of 2 was given up: it broke"));
  CHECK(book.ask(1, false, "e2").empty());
  const GroupBook::Asking strange{.ticket = 9, .key = 8, .epoch = "e9", .device = device(0)};
  CHECK(GroupBook("/job:w/replica:0/task:0").ask(strange).at(0).rank.status().message() ==
        "group 8 is not known to /job:w/replica:0/task:0, who leads it: it has started again "
        "since, or "
        "the group ended too long ago");
}

TEST_CASE("an earlier life of a device that still waits is told so") {
  Book book;
  book.come(0, 1);
  const auto answers = book.come(0, 11);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].ticket == 1);
  CHECK(answers[0].group.status() == aborted(device(0), " has started again"));
}

TEST_CASE("who leaves in vain is told who had come") {
  Book book;
  book.come(0, 1);
  const auto answers = book.book.leave(7, 1, Status(Code::deadline_exceeded, "too late"));
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].group.status() ==
        Status(Code::deadline_exceeded,
               str_cat("too late (1 of 2 members have come: ", device(0), ")")));
  // Nobody has been there: another size may be meant.
  CHECK(book.come(1, 2, {}, 3).empty());
}

TEST_CASE("everybody learns who sends, whoever asks first; two can't") {
  Book book;
  book.come(0, 1);
  book.come(1, 2);
  CHECK(book.ask(0, false).empty());
  const auto answers = book.ask(1, true);
  REQUIRE(answers.size() == 2);
  CHECK(*answers[0].rank == 1);
  CHECK(*book.ask(0, false).at(0).rank == 1);
  CHECK(book.ask(0, true).at(0).rank.status().message().find("already has source") !=
        std::string::npos);
  CHECK(book.ask(0, false, "e0").at(0).rank.status().code() == Code::aborted);
}

}  // namespace
}  // namespace millrace

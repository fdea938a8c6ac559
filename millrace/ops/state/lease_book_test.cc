// The rules of lending, as transcripts: what is asked, at a time in nanoseconds, and what comes of
// it.
//
//   lend to 1 until 30     lend 2 again to 1 until 30     end 1       extend 1 a2 until 40
//   give back 1 a1         give back all of 1             expire 30
#include "millrace/ops/state/lease_book.h"

#include <sstream>

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

Clock::Time lease_time(int64_t nanoseconds) {
  return Clock::Time(std::chrono::nanoseconds(nanoseconds));
}

class LeaseTranscript {
 public:
  explicit LeaseTranscript(uint32_t attempts = 0) : attempts_(attempts) {}

  std::string operator()(const std::string& line) {
    std::vector<std::string> words;
    std::istringstream in(line);
    for (std::string word; in >> word;) words.push_back(word);
    const auto number = [&](size_t at) {
      const std::string& word = words.at(at);
      return std::stoull(word[0] == 'a' ? word.substr(1) : word);
    };
    if (line.starts_with("lend to")) return loan(book_.lend(terms(number(2), number(4))));
    if (line.starts_with("lend"))
      return loan(book_.lend_again(number(1), terms(number(4), number(6))));
    if (line.starts_with("end")) return ending(book_.end(number(1)));
    if (line.starts_with("extend")) {
      const bool held =
          book_.extend(number(1), static_cast<uint32_t>(number(2)), lease_time(int64_t(number(4))));
      return held ? "extended" : "not lent in that attempt";
    }
    if (line.starts_with("give back all")) return returned(book_.give_back_all_of(number(4)));
    if (line.starts_with("give back"))
      return returned(book_.give_back(number(2), static_cast<uint32_t>(number(3))));
    if (line.starts_with("expire")) return returned(book_.expire(lease_time(int64_t(number(1)))));
    return "?";
  }
  std::string book() const { return book_.description(); }
  const LeaseBook& operator*() const { return book_; }

 private:
  LeaseBook::Terms terms(uint64_t holder, uint64_t until) const {
    return {.holder = holder, .until = lease_time(int64_t(until)), .attempts = attempts_};
  }
  static std::string loan(LeaseBook::Loan loan) { return str_cat(loan.number, " a", loan.attempt); }
  static std::string ending(LeaseBook::Ending ending) {
    constexpr const char* kWords[] = {"ended", "had ended", "is dead", "never was"};
    return kWords[static_cast<int>(ending)];
  }
  static std::string returned(const LeaseBook::Returned& returned) {
    std::string text;
    for (const auto number : returned.again) str_append(&text, text.empty() ? "" : " ", number);
    for (const auto number : returned.dead)
      str_append(&text, text.empty() ? "" : " ", number, " dies");
    return text.empty() ? "nothing" : text;
  }

  const uint32_t attempts_;
  LeaseBook book_;
};

TEST_CASE("elements get their numbers as they are lent, and end when somebody says so") {
  LeaseTranscript book;
  CHECK(book("lend to 1 until 30") == "1 a1");
  CHECK(book("lend to 2 until 40") == "2 a1");
  CHECK(book.book() == "1 lent a1 until 30, 2 lent a1 until 40; horizon 3");
  CHECK(book("end 1") == "ended");
  CHECK(book("end 1") == "had ended");
  CHECK(book("end 3") == "never was");
  CHECK(book.book() == "2 lent a1 until 40; horizon 3");
  CHECK((*book).num_lent() == 1);
}

TEST_CASE("a lease that has run out comes back, and the next taker has the next attempt") {
  LeaseTranscript book;
  book("lend to 1 until 30");
  CHECK((*book).next_expiry() == lease_time(30));
  CHECK(book("expire 29") == "nothing");
  CHECK(book("expire 30") == "1");
  CHECK(book.book() == "1 returned a1; horizon 2");
  CHECK_FALSE((*book).next_expiry());
  CHECK(book("lend 1 again to 2 until 60") == "1 a2");
  CHECK((*book).num_lent() == 1);
}

TEST_CASE("who has lost a lease can't extend it or give it back, but can end it") {
  LeaseTranscript book;
  book("lend to 1 until 30");
  CHECK(book("extend 1 a1 until 50") == "extended");
  CHECK(book("expire 49") == "nothing");
  book("expire 50");
  CHECK(book("extend 1 a1 until 70") == "not lent in that attempt");
  book("lend 1 again to 2 until 90");
  CHECK(book("extend 1 a1 until 99") == "not lent in that attempt");
  CHECK(book("give back 1 a1") == "nothing");
  CHECK(book("end 1") == "ended");
  CHECK(book("give back 1 a2") == "nothing");
  CHECK(book.book() == "horizon 2");
}

TEST_CASE("in the next life of its owner all that was lent has come back, and no more has died") {
  LeaseTranscript book(1);
  book("lend to 1 until 30");
  book("lend to 1 until 30");
  book("give back 1 a1");
  LeaseBook next((*book).kept());
  CHECK(next.description() == "2 returned a1, 1 dead; horizon 3");
  CHECK(next.num_lent() == 0);
  CHECK(next.end(1) == LeaseBook::Ending::dead);
  CHECK(next.end(2) == LeaseBook::Ending::now);
  CHECK(next.kept() == LeaseBook::Kept{.next = 3, .open = {}, .dead = {1}});
}

TEST_CASE("what comes back may end before it is lent again") {
  LeaseTranscript book;
  book("lend to 1 until 30");
  book("give back 1 a1");
  CHECK(book("end 1") == "ended");
  CHECK((*book).num_lent() == 0);
  CHECK((*book).open().empty());
}

TEST_CASE("all that a holder has comes back with the holder's end, and nothing else") {
  LeaseTranscript book;
  book("lend to 1 until 30");
  book("lend to 2 until 30");
  book("lend to 1 until 30");
  CHECK(book("give back all of 1") == "1 3");
  CHECK(book("give back all of 1") == "nothing");
  CHECK(book.book() == "1 returned a1, 2 lent a1 until 30, 3 returned a1; horizon 4");
}

TEST_CASE("an element that came back as often as it may is dead, and its end is refused") {
  LeaseTranscript book(2);
  book("lend to 1 until 30");
  CHECK(book("expire 30") == "1");
  CHECK(book("lend 1 again to 1 until 60") == "1 a2");
  CHECK(book("expire 60") == "1 dies");
  CHECK(book("end 1") == "is dead");
  CHECK(book.book() == "1 dead; horizon 2");
  CHECK((*book).open().empty());
}

TEST_CASE("the book is as large as what is lent, however much has passed through it") {
  LeaseTranscript book;
  book("lend to 1 until 30");
  for (int i = 2; i < 1'000; ++i) {
    book("lend to 2 until 30");
    book(str_cat("end ", i));
  }
  CHECK(book.book() == "1 lent a1 until 30; horizon 1000");
}

}  // namespace
}  // namespace millrace

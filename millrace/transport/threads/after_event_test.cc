#include "millrace/transport/threads/after_event.h"

#include <string>

#include <doctest/doctest.h>

namespace millrace::transport {
namespace {

// Where what is not kept for the end of a turn goes.
struct Elsewhere final : Runner {
  void post(Task task) override {
    ++posted;
    task();
  }
  int posted = 0;
};

struct Lab {
  Elsewhere elsewhere;
  AfterEvent runner{elsewhere};
  std::atomic<uint64_t> beat{7};
  std::string done;

  void post(char name) {
    runner.post([this, name] { done += name; });
  }
};

TEST_CASE("what is posted while a thread handles an event is done after it, in order") {
  Lab lab;
  AfterEvent::Turn turn(lab.beat, 7, true);
  CHECK(AfterEvent::Turn::is_now());
  lab.post('a');
  lab.runner.post([&] {
    lab.done += 'b';
    lab.post('c');
  });
  CHECK(lab.done.empty());
  turn.do_what_was_posted();
  CHECK(lab.done == "abc");
  CHECK(lab.elsewhere.posted == 0);
}

TEST_CASE("on a thread that handles no event it goes elsewhere") {
  Lab lab;
  { const AfterEvent::Turn turn(lab.beat, 7, true); }
  CHECK_FALSE(AfterEvent::Turn::is_now());
  lab.post('a');
  CHECK(lab.elsewhere.posted == 1);
}

TEST_CASE("without anybody who would lead it goes elsewhere") {
  Lab lab;
  const AfterEvent::Turn turn(lab.beat, 7, false);
  lab.post('a');
  CHECK(lab.elsewhere.posted == 1);
}

TEST_CASE("once another thread leads, because the event takes long, it goes elsewhere") {
  Lab lab;
  AfterEvent::Turn turn(lab.beat, 7, true);
  lab.post('a');
  lab.beat = 8;
  CHECK_FALSE(AfterEvent::Turn::is_now());
  lab.post('b');
  CHECK(lab.done == "b");
  turn.do_what_was_posted();
  CHECK(lab.done == "ba");
}

}  // namespace
}  // namespace millrace::transport

// Creating sessions as transcripts: what happens, and what the master does next.
//
//   request OK               what is wrong with the request
//   present a b              who answered the roll call; `absent CANCELLED why`: it failed
//   placed OK                how placing the graph went
//   a OK                     a has made its share of the session, or not
//   b gone UNAVAILABLE why   the same, of a member that has ended well
//   stop CANCELLED why       the client gives up
#include "millrace/master/creation_tracker.h"

#include <algorithm>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/testing/script.h"
#include "millrace/base/testing/spoken_status.h"

namespace millrace {
namespace {

class CreationScript {
 public:
  std::string run(const std::string& script) {
    testing::each_line(script, [this](const std::string& verb, std::istringstream& words) {
      happen(verb, words);
    });
    return out_;
  }

 private:
  void happen(const std::string& verb, std::istringstream& words) {
    if (verb == "request") return tell(tracker_.on_request(testing::spoken_status(words)));
    if (verb == "placed") return tell(tracker_.on_placed(testing::spoken_status(words)));
    if (verb == "absent") return tell(tracker_.on_present(testing::spoken_status(words)));
    if (verb == "stop") return tracker_.on_stop(testing::spoken_status(words));
    if (verb == "present") {
      for (std::string name; words >> name;)
        members_.push_back({{name, 0, 0}, str_cat("host-", name, ":1")});
      return tell(tracker_.on_present(members_));
    }
    const auto found =
        std::ranges::find(members_, verb, [](const Member& member) { return member.task.job; });
    REQUIRE_MESSAGE(found != members_.end(), "no member " << verb);
    const auto begin = words.tellg();
    std::string how;
    words >> how;
    auto life = Roll::Life::has_ended;
    if (how != "gone") {
      life = Roll::Life::goes_on;
      words.seekg(begin);
    }
    tell(tracker_.on_created(static_cast<size_t>(found - members_.begin()),
                             testing::spoken_status(words), life));
  }

  void tell(CreationTracker::Next next) {
    using Next = CreationTracker::Next;
    switch (next) {
      case Next::nothing:
        return;
      case Next::call_the_roll:
        return say("call the roll");
      case Next::place:
        return say("place on" + who());
      case Next::create:
        return say("create at" + who());
      case Next::forget:
        return say("forget at" + who() + "\nclient <- " + tracker_.outcome().to_string());
      case Next::answer:
        return say("client <- " + tracker_.outcome().to_string());
    }
  }
  std::string who() const {
    std::string text;
    for (size_t i = 0; i < members_.size(); ++i)
      if (tracker_.takes_part(i)) str_append(&text, " ", members_[i].task.job);
    return text;
  }
  void say(const std::string& line) { str_append(&out_, line, "\n"); }

  CreationTracker tracker_;
  std::vector<Member> members_;
  std::string out_;
};

std::string creation(const std::string& script) { return CreationScript().run(script); }

TEST_CASE("a session is there when the last member has made its share") {
  CHECK(creation("request OK\npresent a b\nplaced OK\nb OK\na OK") ==
        "call the roll\nplace on a b\ncreate at a b\nclient <- OK\n");
}

TEST_CASE("a request that makes no sense asks nobody, and a roll call that fails places nothing") {
  CHECK(creation("request INVALID_ARGUMENT no graph") == "client <- INVALID_ARGUMENT: no graph\n");
  CHECK(creation("request OK\nabsent DEADLINE_EXCEEDED late") ==
        "call the roll\nclient <- DEADLINE_EXCEEDED: late\n");
}

TEST_CASE("a graph that can't be placed is refused before members hear of the session") {
  CHECK(creation("request OK\npresent a\nplaced INVALID_ARGUMENT no such device") ==
        "call the roll\nplace on a\nclient <- INVALID_ARGUMENT: no such device\n");
}

TEST_CASE("whoever refuses is named, the cause before what it caused, and all are told to forget") {
  CHECK(creation("request OK\npresent a b c\nplaced OK\n"
                 "c ~ABORTED as told\nb INTERNAL no memory\na OK") ==
        "call the roll\nplace on a b c\ncreate at a b c\nforget at a b c\n"
        "client <- INTERNAL: creating the session at /job:b/replica:0/task:0 (host-b:1): "
        "no memory\n");
}

TEST_CASE("a client that gives up hears its own reason, and only when all have answered") {
  CHECK(creation("request OK\npresent a b\nplaced OK\nstop DEADLINE_EXCEEDED late\n"
                 "stop ABORTED again\na ~CANCELLED as told\nb OK") ==
        "call the roll\nplace on a b\ncreate at a b\nforget at a b\n"
        "client <- DEADLINE_EXCEEDED: late\n");
}

TEST_CASE("a member that ends meanwhile takes no part, and the graph is placed without it") {
  CHECK(creation("request OK\npresent a b\nplaced OK\nb gone UNAVAILABLE refused\na OK\n"
                 "placed OK") ==
        "call the roll\nplace on a b\ncreate at a b\nplace on a\nclient <- OK\n");
  CHECK(creation("request OK\npresent a b\nplaced OK\nb gone UNAVAILABLE refused\na OK\n"
                 "placed INVALID_ARGUMENT b is needed") ==
        "call the roll\nplace on a b\ncreate at a b\nplace on a\n"
        "forget at a\nclient <- INVALID_ARGUMENT: b is needed\n");
}

TEST_CASE("one that has ended is no excuse for another that refuses, nor told to forget") {
  CHECK(creation("request OK\npresent a b c\nplaced OK\nb gone UNAVAILABLE refused\n"
                 "c INTERNAL no memory\na OK") ==
        "call the roll\nplace on a b c\ncreate at a b c\nforget at a c\n"
        "client <- INTERNAL: creating the session at /job:c/replica:0/task:0 (host-c:1): "
        "no memory\n");
}

TEST_CASE("a member that had ended and answers all the same takes part") {
  CHECK(creation("request OK\npresent a\nplaced OK\na gone OK") ==
        "call the roll\nplace on a\ncreate at a\nclient <- OK\n");
}

}  // namespace
}  // namespace millrace

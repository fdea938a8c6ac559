// Roll calls as transcripts: what happens, and what the master does about it.
//
//   members a b        /job:a at host-a:1 and so on are asked; `sent` before them: in a cluster
//                      that the client sent
//   ended b            from now on b is known to have ended; before `start` without being told
//   start
//   a OK               a answers | a UNAVAILABLE refused | a as c: another task answers there
//   b goodbye          the life of b that has ended answers
//   at a host-x:1      it is known to be there; `nowhere a UNAVAILABLE why`: nobody knows where
//   retry b            the time has come to ask again
//   reminder           likewise, to remind
//   seen b UNAVAILABLE refused | saw b …    what a look says, for people | for itself
//   stop CANCELLED why
#include "millrace/master/roll.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/testing/script.h"
#include "millrace/base/testing/spoken_status.h"

namespace millrace {
namespace {

class RollScript {
 public:
  std::string run(const std::string& script) {
    testing::each_line(script, [this](const std::string& verb, std::istringstream& words) {
      happen(verb, words);
    });
    return out_;
  }

 private:
  void happen(const std::string& verb, std::istringstream& words) {
    std::string name;
    if (verb == "members" || verb == "sent") {
      while (words >> name) {
        members_.push_back({{name, 0, 0}, str_cat("host-", name, ":1")});
        lives_.push_back(Roll::Life::goes_on);
      }
      roll_.emplace(Roll::Options{.purpose = "CreateSession",
                                  .is_sent = verb == "sent",
                                  .reminder_interval = std::chrono::seconds(10)},
                    members_);
    } else if (verb == "start") {
      has_started_ = true;
      perform(roll_->start(lives_));
    } else if (verb == "reminder") {
      perform(roll_->on_reminder_due());
    } else if (verb == "stop") {
      perform(roll_->on_stop(testing::spoken_status(words)));
    } else if (verb == "ended") {
      const size_t member = read_member(words);
      lives_[member] = Roll::Life::has_ended;
      if (has_started_) perform(roll_->on_departure(member));
    } else if (verb == "at") {
      const size_t member = read_member(words);
      std::string address;
      words >> address;
      roll_->locate(member, address);
    } else if (verb == "nowhere") {
      const size_t member = read_member(words);
      roll_->locate(member, testing::spoken_status(words));
    } else if (verb == "retry") {
      const size_t member = read_member(words);
      perform(roll_->on_retry_due(member, lives_[member]));
    } else if (verb == "seen" || verb == "saw") {
      const size_t member = read_member(words);
      const auto look = verb == "seen" ? Roll::Look::for_people : Roll::Look::for_itself;
      perform(roll_->on_seen(member, testing::spoken_status(words), lives_[member], look));
    } else {
      answer(index_of(verb), words);
    }
  }

  void answer(size_t member, std::istringstream& words) {
    const auto begin = words.tellg();
    std::string how, as = members_[member].task.job;
    words >> how;
    GetStatusReply reply;
    if (how == "as") words >> as;
    reply.devices.push_back({.name = DeviceName::on({as, 0, 0}).to_string(), .type = "CPU"});
    if (how == "OK" || how == "as")
      return perform(roll_->on_answer(member, std::move(reply), Roll::Life::goes_on));
    if (how == "goodbye")
      return perform(roll_->on_answer(member, std::move(reply), Roll::Life::is_ending));
    words.seekg(begin);
    perform(roll_->on_answer(member, testing::spoken_status(words), lives_[member]));
  }

  size_t read_member(std::istringstream& words) {
    std::string name;
    words >> name;
    return index_of(name);
  }
  size_t index_of(const std::string& name) {
    const auto found =
        std::ranges::find(members_, name, [](const Member& m) { return m.task.job; });
    REQUIRE_MESSAGE(found != members_.end(), "no member " << name);
    return static_cast<size_t>(found - members_.begin());
  }

  void perform(const Roll::Actions& actions) {
    for (const Roll::Action& action : actions) perform(action);
  }
  void perform(const Roll::Action& action) {
    using Kind = Roll::Action::Kind;
    const std::string& who = members_[action.member].task.job;
    switch (action.kind) {
      case Kind::ask:
        return say("ask ", who);
      case Kind::ask_briefly:
        return say("ask briefly ", who);
      case Kind::ask_later:
        return say("ask ", who, " in ", action.pause.count(), " ms");
      case Kind::look:
        return say("look at ", who);
      case Kind::look_quietly:
        return say("look quietly at ", who);
      case Kind::say:
        return say("log: ", action.text);
      case Kind::report:
        return report();
      case Kind::remind_later:
        return say("remind in ", action.pause.count(), " ms");
      case Kind::cancel:
        return say("cancel: ", action.why.to_string());
      case Kind::answer:
        return tell_outcome();
    }
  }
  void report() {
    std::string text;
    for (const auto& other : roll_->waits().others)
      str_append(&text, " ", other.task, other.why.empty() ? "" : str_cat(" (", other.why, ")"));
    say("report: waits for", text);
  }
  void tell_outcome() {
    std::string text = roll_->outcome().to_string();
    for (size_t i = 0; roll_->outcome().ok() && i < members_.size(); ++i)
      if (roll_->takes_part(i)) str_append(&text, " ", roll_->take_devices(i).front().name);
    say("client <- ", text);
  }
  template <class... Parts>
  void say(const Parts&... parts) {
    str_append(&out_, parts..., "\n");
  }

  std::vector<Member> members_;
  std::vector<Roll::Life> lives_;
  std::optional<Roll> roll_;
  bool has_started_ = false;
  std::string out_;
};

std::string roll_of(const std::string& script) { return RollScript().run(script); }

TEST_CASE("everybody is asked, and the roll call is over with the last answer") {
  CHECK(roll_of(R"(
    members a b
    start
    b OK
    a OK
    )") ==
        "remind in 1000 ms\n"
        "ask a\n"
        "ask b\n"
        "client <- OK /job:a/replica:0/task:0/device:CPU:0 /job:b/replica:0/task:0/device:CPU:0\n");
}

TEST_CASE("a member whose connection breaks is asked again, and other errors end the roll call") {
  CHECK(roll_of(R"(
    members a b c
    start
    b UNAVAILABLE reset
    retry b
    b UNAVAILABLE reset
    c INTERNAL no memory
    retry b
    a ~CANCELLED as told
    )") ==
        "remind in 1000 ms\nask a\nask b\nask c\n"
        "ask b in 200 ms\n"
        "ask b\n"
        "ask b in 200 ms\n"
        "cancel: INTERNAL: /job:c/replica:0/task:0 at host-c:1: no memory\n"
        "client <- INTERNAL: /job:c/replica:0/task:0 at host-c:1: no memory\n");
}

TEST_CASE("another task at a member's address ends the roll call, unless the client named it so") {
  CHECK(roll_of("members a\nstart\na as b").find("client <- FAILED_PRECONDITION") !=
        std::string::npos);
  CHECK(roll_of("sent a\nstart\na as b") ==
        "remind in 1000 ms\nask a\nclient <- OK /job:a/replica:0/task:0/device:CPU:0\n");
}

TEST_CASE("now and then somebody looks who is missing, and why; so does the error at the end") {
  CHECK(roll_of(R"(
    members a b c
    start
    a OK
    reminder
    seen b UNAVAILABLE refused
    seen c OK
    reminder
    stop DEADLINE_EXCEEDED too late
    b ~CANCELLED as told
    reminder
    c ~CANCELLED as told
    reminder
    )") ==
        "remind in 1000 ms\nask a\nask b\nask c\n"
        "report: waits for b:0 c:0\nlook at b\nlook at c\nremind in 10000 ms\n"
        "log: CreateSession still waiting for response from worker: /job:b/replica:0/task:0 at "
        "host-b:1 (UNAVAILABLE: refused)\n"
        "log: CreateSession still waiting for response from worker: /job:c/replica:0/task:0 at "
        "host-c:1\n"
        "report: waits for b:0 (UNAVAILABLE: refused) c:0\n"
        "look at b\nlook at c\nremind in 10000 ms\n"
        "cancel: DEADLINE_EXCEEDED: too late\n"
        "report: waits for c:0\nremind in 10000 ms\n"
        "client <- DEADLINE_EXCEEDED: too late; not there: /job:b/replica:0/task:0 at host-b:1 "
        "(UNAVAILABLE: refused), /job:c/replica:0/task:0 at host-c:1\n");
}

TEST_CASE("a member that nobody can find is missing for that reason, until it is somewhere") {
  CHECK(roll_of(R"(
    members a b
    nowhere a UNAVAILABLE its address is not known yet
    nowhere b UNAVAILABLE its address is not known yet
    start
    at b host-x:1
    reminder
    seen a UNAVAILABLE its address is not known yet
    seen b UNAVAILABLE refused
    b INTERNAL no memory
    a ~CANCELLED as told
    )") ==
        "remind in 1000 ms\nask a\nask b\n"
        "report: waits for a:0 (UNAVAILABLE: its address is not known yet) b:0 (UNAVAILABLE: its "
        "address is not known yet)\n"
        "look at a\nlook at b\nremind in 10000 ms\n"
        "log: CreateSession still waiting for response from worker: /job:a/replica:0/task:0 "
        "(UNAVAILABLE: its address is not known yet)\n"
        "log: CreateSession still waiting for response from worker: /job:b/replica:0/task:0 at "
        "host-x:1 (UNAVAILABLE: refused)\n"
        "cancel: INTERNAL: /job:b/replica:0/task:0 at host-x:1: no memory\n"
        "client <- INTERNAL: /job:b/replica:0/task:0 at host-x:1: no memory\n");
}

TEST_CASE("who is waited for is told to whoever asks, and why") {
  Roll roll({.purpose = "CreateSession"},
            {{{"a", 0, 0}, "host-a:1"}, {{"b", 0, 1}, "host-b:1"}, {{"c", 0, 0}, "host-c:1"}});
  static_cast<void>(roll.start(std::vector(3, Roll::Life::goes_on)));
  GetStatusReply reply;
  reply.devices.push_back({.name = DeviceName::on({"a", 0, 0}).to_string(), .type = "CPU"});
  static_cast<void>(roll.on_answer(0, std::move(reply), Roll::Life::goes_on));
  static_cast<void>(
      roll.on_seen(1, unavailable("refused"), Roll::Life::goes_on, Roll::Look::for_itself));
  CHECK(roll.describe() ==
        std::vector<std::string>{"CreateSession waits for /job:b/replica:0/task:1 at host-b:1 "
                                 "(UNAVAILABLE: refused)",
                                 "CreateSession waits for /job:c/replica:0/task:0 at host-c:1"});
}

TEST_CASE("of many that are missing the error names five") {
  const std::string text = roll_of(
      "members a b c d e f g\nstart\na OK\nb UNAVAILABLE x\nc UNAVAILABLE x\n"
      "d UNAVAILABLE x\ne UNAVAILABLE x\nf UNAVAILABLE x\ng UNAVAILABLE x\n"
      "stop DEADLINE_EXCEEDED late");
  CHECK(text.find("/job:f/replica:0/task:0 at host-f:1 and 1 more\n") != std::string::npos);
  CHECK(text.find("job:g/replica:0/task:0 at") == std::string::npos);
}

TEST_CASE("whoever rests between two questions is not waited for when it is over") {
  CHECK(roll_of(R"(
    members a
    start
    a UNAVAILABLE reset
    stop CANCELLED enough
    retry a
    stop CANCELLED again
    )") ==
        "remind in 1000 ms\nask a\nask a in 200 ms\n"
        "cancel: CANCELLED: enough\n"
        "client <- CANCELLED: enough\n");
}

TEST_CASE("a member that has ended is asked, but left out if nobody answers in its place") {
  CHECK(roll_of(R"(
    members a b c d
    ended b
    ended c
    ended d
    start
    b UNAVAILABLE refused
    c OK
    d DEADLINE_EXCEEDED silence
    a OK
    b OK
    )") ==
        "remind in 1000 ms\nask a\nask briefly b\nask briefly c\nask briefly d\n"
        "log: CreateSession goes on without /job:b/replica:0/task:0, which has ended\n"
        "log: CreateSession goes on without /job:d/replica:0/task:0, which has ended\n"
        "client <- OK /job:a/replica:0/task:0/device:CPU:0 /job:c/replica:0/task:0/device:CPU:0\n");
}

TEST_CASE("a member may end while it is waited for, or as it answers") {
  CHECK(roll_of(R"(
    members a b c
    start
    a OK
    ended b
    saw b UNAVAILABLE refused
    ended b
    c goodbye
    )") ==
        "remind in 1000 ms\nask a\nask b\nask c\n"
        "look quietly at b\n"
        "log: CreateSession goes on without /job:b/replica:0/task:0, which has ended\n"
        "log: CreateSession goes on without /job:c/replica:0/task:0, which has ended\n"
        "client <- OK /job:a/replica:0/task:0/device:CPU:0\n");
}

TEST_CASE("a member that breaks off its answer because it stops is gone, or asked again") {
  CHECK(roll_of(R"(
    members a b c
    start
    ended a
    saw a CANCELLED CANCELLED
    b CANCELLED CANCELLED
    retry b
    ended c
    c CANCELLED CANCELLED
    b OK
    )") ==
        "remind in 1000 ms\nask a\nask b\nask c\n"
        "look quietly at a\n"
        "log: CreateSession goes on without /job:a/replica:0/task:0, which has ended\n"
        "ask b in 200 ms\n"
        "ask b\n"
        "look quietly at c\n"
        "log: CreateSession goes on without /job:c/replica:0/task:0, which has ended\n"
        "client <- OK /job:b/replica:0/task:0/device:CPU:0\n");
}

TEST_CASE("a look that meets somebody leaves nobody out") {
  CHECK(roll_of(R"(
    members a
    start
    ended a
    saw a OK
    saw a INTERNAL no memory
    a OK
    saw a UNAVAILABLE gone since
    )") ==
        "remind in 1000 ms\nask a\nlook quietly at a\n"
        "client <- OK /job:a/replica:0/task:0/device:CPU:0\n");
}

TEST_CASE("after the first failure nobody is asked or looked at any more") {
  CHECK(roll_of(R"(
    members a b
    start
    stop ABORTED the master stops
    stop CANCELLED and the client goes
    ended b
    b UNAVAILABLE reset
    a OK
    )") ==
        "remind in 1000 ms\nask a\nask b\n"
        "cancel: ABORTED: the master stops\n"
        "client <- ABORTED: the master stops\n");
}

}  // namespace
}  // namespace millrace

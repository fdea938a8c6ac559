// Roll: the protocol of a roll call, as a state machine (roll_call.h says what one is for).
//
// Every member is asked for its devices and settled once: it has answered, it is left out because
// it has ended well, or its error ends the whole. Events go in; what is to be done comes out. The
// roll call is over when every member is settled, so that no question is left open behind its back
// but those to members that were left out.
//
// Pure: no thread, clock or call. The caller feeds events one at a time. roll_test.cc drives it
// with transcripts.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/first_cause.h"
#include "millrace/cluster/messages.h"
#include "millrace/cluster/task_record.h"
#include "millrace/master/membership.h"

namespace millrace {

class Roll {
 public:
  using Pause = std::chrono::milliseconds;

  // What is known of a member's end when something happens.
  enum class Life : uint8_t {
    goes_on,    // as far as anybody has heard
    has_ended,  // well; somebody else may answer in its place
    is_ending,  // well, and this life of it is what answers
  };
  // Who a look at a missing member is for.
  enum class Look : uint8_t { for_people, for_itself };

  struct Action {
    enum class Kind : uint8_t {
      ask,           // for its devices, however long it takes to come up
      ask_briefly,   // the same, as long as one asks a task that is known to have ended
      ask_later,     // call on_retry_due after `pause`
      look,          // find out why it does not answer, without waiting for it; for people
      look_quietly,  // the same; for itself
      say,           // `text`, in the log
      report,        // what it waits for: waits()
      remind_later,  // call on_reminder_due after `pause`
      cancel,        // the questions that are open, with `why`
      answer,        // with outcome(); comes once, and nothing that matters after it
    };
    Kind kind;
    size_t member = 0;
    Pause pause{};
    Status why = {};
    std::string text = {};
  };
  using Actions = std::vector<Action>;

  struct Options {
    std::string purpose;   // in front of lines: "CreateSession"
    bool is_sent = false;  // the client sent the cluster: tasks have other names in it
    Pause reminder_interval{};
  };
  Roll(Options options, std::vector<Member> members);

  // Where a member is now, or why nobody knows.
  void locate(size_t member, Result<std::string> address);
  const Member& member(size_t member) const { return members_[member]; }

  // The lives are those of the members.
  Actions start(const std::vector<Life>& lives);
  // A question has been answered, or has failed.
  Actions on_answer(size_t member, Result<GetStatusReply> reply, Life life);
  Actions on_retry_due(size_t member, Life life);
  Actions on_reminder_due();
  // A look has ended.
  Actions on_seen(size_t member, Status status, Life life, Look look);
  // Somebody tells that the member has ended well, or is elsewhere.
  Actions on_departure(size_t member);
  // The client gave up, its time is over, or the master stops.
  Actions on_stop(Status why);

  // Why it failed; OK if it did not. Requires that it is over.
  const Status& outcome() const { return failure_.status(); }
  // False for a member that is left out.
  bool takes_part(size_t member) const { return states_[member].stage == Stage::present; }
  std::vector<DeviceAttributes> take_devices(size_t member) {
    return std::move(states_[member].devices);
  }
  // Empty for one of TensorFlow's tasks, and for a member that has not answered.
  Capabilities capabilities(size_t member) const { return states_[member].can; }
  // Who is missing, for the task's report.
  TaskWaitsFor waits() const;
  // The same for people: a line for each.
  std::vector<std::string> describe() const;

 private:
  enum class Stage : uint8_t { asked, resting, present, left_out, failed };
  struct State {
    Stage stage = Stage::asked;
    Status diagnosis = {};  // of the last look at one that is missing
    std::vector<DeviceAttributes> devices = {};
    Capabilities can = {};
  };

  bool is_open(size_t member) const {
    return states_[member].stage == Stage::asked || states_[member].stage == Stage::resting;
  }
  static Action ask(size_t member, Life life);
  void settle(size_t member, Stage stage, Actions* actions);
  void leave_out(size_t member, Actions* actions);
  void fail(Status why, Actions* actions);
  // Who has not been settled, and what the last look at it said.
  struct Missing {
    const Member& member;
    const Status& diagnosis;
  };
  std::vector<Missing> missing() const;
  std::string not_there() const;

  const Options options_;
  std::vector<Member> members_;
  std::vector<State> states_;
  size_t open_;
  FirstCause failure_;
};

// "CreateSession still waiting for response from worker: /job:ps/replica:0/task:0 at ps0:2222 (…)";
// without the address if it is not known.
std::string reminder(std::string_view purpose, const Member& missing, const Status& diagnosis);

}  // namespace millrace

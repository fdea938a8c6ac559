// CreationTracker: the protocol of creating a session, as a state machine (session_creation.h says
// what that is).
//
// The request is read, the roll is called, the graph is placed on who is there, and each of them
// makes its share of the session. Members that end well in the meantime take no part: the graph is
// then placed again on those that are left. If anything fails after members were asked, they are
// told to forget. Events go in; the next stage comes out.
//
// Pure: no thread, clock or call. The caller feeds events one at a time. creation_tracker_test.cc
// drives it with transcripts.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/master/membership.h"
#include "millrace/master/roll.h"

namespace millrace {

class CreationTracker {
 public:
  enum class Next : uint8_t {
    nothing,        // an answer is still to come
    call_the_roll,  // and say on_present
    place,          // the graph on the members that take part, and say on_placed
    create,         // the session at each of them, and say on_created
    answer,         // with outcome(); members know nothing of the session
    forget,         // tell those that take part to drop it, and answer with outcome()
  };

  // What is wrong with the request; OK if nothing is.
  Next on_request(Status fault);
  // Who is there, or why the roll call failed.
  Next on_present(Result<std::vector<Member>> members);
  Next on_placed(Status status);
  // Member `index` of those that on_present brought has made its share, or not.
  Next on_created(size_t index, Status status, Roll::Life life);
  // The client gave up, its time is over, or the master stops: what is under way is being
  // cancelled, and its end still comes.
  void on_stop(Status why);

  // Whether a member of those that on_present brought takes part.
  bool takes_part(size_t index) const { return takes_part_[index]; }
  // OK if the session is there. Requires that the client is to be answered.
  const Status& outcome() const { return outcome_; }

 private:
  Next all_created();
  Next fail(Status why, Next next);

  std::vector<Member> members_;
  std::vector<bool> takes_part_;
  std::vector<Status> answers_;  // of the members, with their names
  size_t missing_ = 0;           // of them
  bool is_created_ = false;      // everybody has answered
  Status stopped_;               // why somebody ended it; OK if nobody did
  Status outcome_;
};

}  // namespace millrace

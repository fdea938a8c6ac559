// StepTracker: the protocol of one step, as a state machine.
//
// A step runs on several workers, its parts. Events go in (a part answered, somebody wants the step
// to end); actions come out (cancel the parts that still run, answer the client). The first *cause*
// of a failure cancels the other parts; what they answer then are consequences, which are counted
// and not shown. The client is answered once every part has answered, so nothing of the step is
// left running behind its back. Cancelled parts answer soon, as a rule: one that does not, because
// a kernel of it looks at nothing, has its time, and then the client is answered without it.
//
// Pure: no thread, clock or socket. The caller feeds events one at a time. step_tracker_test.cc
// drives it with transcripts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "millrace/base/first_cause.h"

namespace millrace {

class StepTracker {
 public:
  // One part, as errors name it.
  struct Part {
    std::string_view worker;  // "/job:worker/replica:0/task:0"; must outlive the tracker
    enum class Where : uint8_t { own_task, elsewhere } where = Where::own_task;
  };

  // Each is asked for once per step at most.
  struct Actions {
    // Cancel whatever still runs, and call on_patience_end some time later; empty (OK) if there is
    // nothing to cancel. Always a consequence.
    Status cancel_parts = {};
    // Answer the client with outcome().
    bool answer = false;
    // Every part has answered: clean up.
    bool is_over = false;
  };

  // At least one part; all are taken to be started.
  explicit StepTracker(std::span<const Part> parts);

  // Part `index` answered. A second answer of one part is ignored.
  Actions on_reply(size_t index, Status status);
  // The client gave up, its deadline passed, or the session is being closed. `why` becomes the
  // outcome unless a part failed first by itself.
  Actions on_stop(Status why);
  // What was cancelled has had its time.
  Actions on_patience_end();

  bool is_pending(size_t index) const { return !answered_[index]; }
  bool is_client_answered() const { return is_client_answered_; }
  // How the step ended; OK if it went well. Requires that the client is to be answered.
  Status outcome() const;

 private:
  // The most causes that are kept; a cluster of thousands need not repeat itself.
  static constexpr size_t kMaxCauses = 4;

  void record(size_t index, Status status);

  std::span<const Part> parts_;
  absl::InlinedVector<bool, 8> answered_;
  size_t pending_;
  bool is_client_answered_ = false;
  Status stopped_;              // why somebody outside ended the step
  FirstCause failure_;          // of the parts
  std::vector<Status> causes_;  // failures of parts, first one first
  size_t num_causes_ = 0;
  size_t num_consequences_ = 0;
};

// `status` as a client sees it when it comes from `worker`, another task: with TensorFlow's prefix
// "From /job:worker/replica:0/task:1:\n", and a hint if the worker says that it was restarted.
Status from_worker(std::string_view worker, const Status& status);

// The same error with another message: code, payloads and consequence stay.
Status with_message(const Status& status, std::string message);

}  // namespace millrace

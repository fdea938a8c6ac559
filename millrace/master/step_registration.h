// Hands the parts of a plan to their workers, and makes of the answers a step that can be run any
// number of times. The shell around Registration, which decides.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/done.h"
#include "millrace/master/master_options.h"
#include "millrace/master/prepared_step.h"
#include "millrace/master/roll_call.h"
#include "millrace/plan/plan.h"

namespace millrace {

// Where to register.
struct RegistrationSite {
  MasterContext& context;
  const std::string& session_handle;
  const std::vector<Present>& members;
  const TaskName& own_task;  // under its name in the session
  // False once the session is closed: then its workers drop everything by themselves, and `context`
  // may be gone.
  std::shared_ptr<const std::atomic<bool>> session_is_open;
  ThreadLimits threads = {};  // SessionOptions::threads
};

// `site` is used during the call only, but for what it refers to; `call` until the answer. If a
// worker refuses, its error is returned with its name. When the last reference to the step goes,
// and the session is still open, the workers are told to forget it; nobody waits for that.
void register_step(const RegistrationSite& site, StepRequestNames names, StepPlan plan,
                   const Call& call, Done<std::shared_ptr<const PreparedStep>> done);

}  // namespace millrace

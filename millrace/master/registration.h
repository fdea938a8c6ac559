// Registration: hands the partitions of a plan to their workers, and makes of the answers a step
// that can be run any number of times.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/base/done.h"
#include "millrace/cluster/services.h"
#include "millrace/master/prepared_step.h"
#include "millrace/master/roll_call.h"
#include "millrace/plan/plan.h"

namespace millrace {

// Where to register.
struct RegistrationSite {
  const std::string& session_handle;
  const std::vector<Present>& members;
  const TaskName& own_task;  // under its name in the session
};

// `site` is used during the call only; `call` until the answer. If one worker refuses, the others
// are told to forget what they registered, and its error is returned with its name.
void register_step(const RegistrationSite& site, StepRequestNames names, StepPlan plan,
                   const Call& call, Done<std::shared_ptr<const PreparedStep>> done);

}  // namespace millrace

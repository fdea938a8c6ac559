// TrainingHook: what takes part in the steps of a TrainingSession, and is told of its life.
//
// In this order: `begin` with each session, the first one and those made after a loss; `wanted` and
// `after_step` around each step; `end` once, unless an error ended the training. An error that a
// hook returns ends it, but for ABORTED and UNAVAILABLE: they are the loss of a task. A class of
// one's own overrides what it needs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/base/host.h"
#include "millrace/session/session.h"

namespace millrace {

enum class AfterStep : uint8_t { go_on, stop };

// What a hook wants of a step.
struct StepWishes {
  std::vector<std::string> fetches = {};  // "node:0": their values come to after_step
  Session::Feeds feeds = {};              // nobody else may feed these
};

class TrainingHook {
 public:
  virtual ~TrainingHook() = default;
  // Variables have their values by now.
  virtual Status begin(Session& /*session*/, const Host& /*host*/) { return {}; }
  // Asked before each step.
  virtual StepWishes wanted() { return {}; }
  // A step went well; `values` are those of what was wanted. The session may be used.
  virtual Result<AfterStep> after_step(Session& /*session*/, const Host& /*host*/,
                                       std::span<const Tensor> /*values*/) {
    return AfterStep::go_on;
  }
  virtual Status end(Session& /*session*/, const Host& /*host*/) { return {}; }
};

}  // namespace millrace

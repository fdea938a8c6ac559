// The hooks that most trainings want. `global_step` is what counts the steps of all workers
// (VariableScope::global_step); what a step reads of it may be from before its own update.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/train/saver.h"
#include "millrace/train/step_timer.h"
#include "millrace/train/training_hook.h"

namespace millrace {

// Asks for the end when the global step has come to `last_step`.
class StopAtStep : public TrainingHook {
 public:
  StopAtStep(const Variable& global_step, int64_t last_step);
  StepWishes wanted() override;
  Result<AfterStep> after_step(Session& session, const Host& host,
                               std::span<const Tensor> values) override;

 private:
  const std::string global_step_;
  const int64_t last_step_;
};

// Logs how many global steps a second are made.
class StepCounter : public TrainingHook {
 public:
  explicit StepCounter(const Variable& global_step, Every every = {.steps = 100});
  StepWishes wanted() override;
  Result<AfterStep> after_step(Session& session, const Host& host,
                               std::span<const Tensor> values) override;

 private:
  const std::string global_step_;
  StepTimer timer_;
};

// Logs values: "step 100: loss 0.25, accuracy 0.9". Tensors of many elements by their first ones.
class LogValues : public TrainingHook {
 public:
  struct Named {
    std::string name;
    Output value;
  };
  LogValues(const Variable& global_step, const std::vector<Named>& values,
            Every every = {.steps = 100});
  StepWishes wanted() override;
  Result<AfterStep> after_step(Session& session, const Host& host,
                               std::span<const Tensor> values) override;

 private:
  std::vector<std::string> names_, fetches_;  // fetches_ begins with the global step
  StepTimer timer_;
};

// Fails with INVALID_ARGUMENT, naming the value, when it is no number or infinite in a step, or of
// no floating type.
class FailAtNaN : public TrainingHook {
 public:
  explicit FailAtNaN(const Output& loss);
  StepWishes wanted() override;
  Result<AfterStep> after_step(Session& session, const Host& host,
                               std::span<const Tensor> values) override;

 private:
  const std::string loss_;
};

// Saves checkpoints: when the training begins, every so often, and at its end. A save in the
// background that fails is an error of one of the next steps, or of the end; of a session that was
// lost, only a warning.
class SaveCheckpoints : public TrainingHook {
 public:
  // "<folder>/<name>-<step>". `saver` was made before the session got the graph.
  SaveCheckpoints(std::shared_ptr<Saver> saver, const Variable& global_step, std::string folder,
                  Every every = {.time = std::chrono::minutes(10)},
                  std::string name = "model.ckpt");
  Status begin(Session& session, const Host& host) override;
  StepWishes wanted() override;
  Result<AfterStep> after_step(Session& session, const Host& host,
                               std::span<const Tensor> values) override;
  Status end(Session& session, const Host& host) override;

 private:
  Status save_if_due(Session& session, const Host& host, bool always);
  Status finish(const Host& host);

  const std::shared_ptr<Saver> saver_;
  const std::string global_step_, folder_, prefix_;
  std::string under_way_;  // what is saved in the background; "" for nothing
  StepTimer timer_;
};

}  // namespace millrace

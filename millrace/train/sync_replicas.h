// SyncReplicasOptimizer: workers that train as one, with as many backup workers as one likes.
//
//   AdamOptimizer adam(0.005);
//   SyncReplicasOptimizer optimizer(adam, {.num_replicas = 2, .replica = task});
//   const Operation train = optimizer.minimize(model, loss, {.global_step = step});
//   … session->run({}, {}, {.targets = {optimizer.begin().name()}});
//   … once variables have values
//
// Each worker adds its gradients to accumulators beside the variables. Once enough have come the
// chief, replica 0, takes their mean, changes the variables and counts the step, and puts a token
// with the new step into each other's queue; who has taken all its tokens goes on with the newest.
// Gradients that began at an older step are dropped, so that who is slow holds nobody up. The chief
// does its part in its own step: there is no thread to start, and no token that another could take.
// A chief that dies between the two leaves the others waiting, until their sessions end or their
// steps time out.
#pragma once

#include "millrace/train/wrapped_optimizer.h"

namespace millrace {

struct SyncReplicasOptions {
  int num_replicas = 1;
  int replica = 0;             // which of them this one is
  int gradients_per_step = 0;  // how many workers make a step, the others being backups; 0: all
  std::string name = "sync_replicas";
};

class SyncReplicasOptimizer : public WrappedOptimizer {
 public:
  // `wrapped` outlives it.
  SyncReplicasOptimizer(Optimizer& wrapped, SyncReplicasOptions options);

  // An operation for each worker to run; its output is the step that it is in afterwards.
  // Errors: INVALID_ARGUMENT without a global step, or for numbers that make no sense.
  Operation apply_gradients(const VariableScope& scope,
                            const std::vector<GradientAndVariable>& pairs,
                            ApplyGradientsOptions options = {}) override;
  // What each worker runs first in a session; without a value before apply_gradients.
  const Operation& begin() const { return begin_; }

 private:
  struct Exchange;
  Exchange exchange(const Scope& scope, const std::vector<GradientAndVariable>& pairs,
                    const Output& local_step, const Output& global_step) const;
  Output tokens_of(const Scope& scope, int replica) const;
  bool makes_sense(const Scope& scope, const ApplyGradientsOptions& options) const;
  Output after_chief(const Scope& scope, const Exchange& exchanged, const Operation& update,
                     const Variable& step) const;
  Output after_other(const Scope& scope, const Exchange& exchanged) const;
  Operation beginning(const Scope& scope, const Exchange& exchanged, const Variable& local,
                      const Variable& step) const;

  const SyncReplicasOptions options_;
  Operation begin_;
};

}  // namespace millrace

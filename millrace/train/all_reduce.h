// AllReduceOptimizer: replicas with variables of their own that stay equal, without parameter
// servers.
//
//   AdamOptimizer adam(0.005);
//   AllReduceOptimizer optimizer(adam, {.num_replicas = 3});
//   const Operation train = optimizer.minimize(model, loss, {.global_step = step});
//   const Operation equal = optimizer.equal_variables(model, is_chief);   // run once, by all
//
// Each replica computes gradients of its own input; the mean of all of them comes to every replica,
// and each changes its own variables by it. Every replica builds the same graph, and takes as many
// steps; a step waits for all others', and fails, with a name, if one is lost.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/train/wrapped_optimizer.h"

namespace millrace {

struct AllReduceOptions {
  int num_replicas = 1;
  float timeout_seconds = 0;  // that a step waits for another replica's; 0: as long as it lives
  int64_t bucket_bytes = 4 << 20;  // gradients go in groups of one type and about this size
  int64_t group_key = 0x616c6c72;  // names the group of replicas
  std::string name = "all_reduce";
};

class AllReduceOptimizer : public WrappedOptimizer {
 public:
  // `wrapped` outlives it.
  AllReduceOptimizer(Optimizer& wrapped, AllReduceOptions options);

  // Errors: INVALID_ARGUMENT if num_replicas is not positive, and the wrapped one's.
  Operation apply_gradients(const VariableScope& scope,
                            const std::vector<GradientAndVariable>& pairs,
                            ApplyGradientsOptions options = {}) override;
  // The mean over all replicas of each gradient; rows become all of their variable.
  std::vector<GradientAndVariable> means(const VariableScope& scope,
                                         const std::vector<GradientAndVariable>& pairs);
  // An operation that gives the chief's values of all the model's variables to the other replicas.
  Operation equal_variables(const VariableScope& scope, bool is_chief);

 private:
  void reduce(const Scope& scope, const std::vector<size_t>& bucket,
              std::vector<GradientAndVariable>& pairs);

  const AllReduceOptions options_;
  int64_t last_instance_ = 0;
};

}  // namespace millrace

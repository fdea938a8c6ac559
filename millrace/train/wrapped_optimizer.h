// An optimizer that changes variables by another one, with gradients that it has made of many
// workers'.
#pragma once

#include <string>
#include <utility>

#include "millrace/train/optimizer.h"

namespace millrace {

class WrappedOptimizer : public Optimizer {
 public:
  Operation apply_gradients(const VariableScope& scope,
                            const std::vector<GradientAndVariable>& pairs,
                            ApplyGradientsOptions options = {}) override = 0;

 protected:
  WrappedOptimizer(Optimizer& wrapped, std::string name)
      : Optimizer(std::move(name)), wrapped_(wrapped) {}

  // Slots are this one's.
  Optimizer& wrapped() const { return wrapped_; }

  // Never asked: apply_gradients is all.
  Operation apply(const Scope& /*scope*/, const ScopeGradient& /*gradient*/,
                  const Variable& /*variable*/) final {
    return {};
  }

 private:
  Optimizer& wrapped_;
};

}  // namespace millrace

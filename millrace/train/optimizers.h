// The optimizers that programs choose from. Parameters may be numbers or scalar outputs, a rate
// that falls with the steps, say. Defaults are TensorFlow's.
#pragma once

#include <string>
#include <vector>

#include "millrace/train/optimizer.h"

namespace millrace {

struct OptimizerOptions {
  bool use_locking = false;
  std::string name = {};  // of the nodes and slots; "": the one that TensorFlow gives it
};

// var -= learning_rate * gradient.
class GradientDescentOptimizer : public Optimizer {
 public:
  explicit GradientDescentOptimizer(Input learning_rate, OptimizerOptions options = {});

 protected:
  void prepare(const Scope& scope) override;
  Operation apply(const Scope& scope, const ScopeGradient& gradient,
                  const Variable& variable) override;
  bool takes_repeated_rows() const override { return true; }  // differences add up

 private:
  const Input learning_rate_;
  Output rate_;
};

// accumulation = momentum * accumulation + gradient; var -= learning_rate * accumulation.
class MomentumOptimizer : public Optimizer {
 public:
  enum class Kind : uint8_t { plain, nesterov };
  MomentumOptimizer(Input learning_rate, Input momentum, Kind kind = Kind::plain,
                    OptimizerOptions options = {});

 protected:
  void create_slots(const VariableScope& scope, const std::vector<Variable>& variables) override;
  void prepare(const Scope& scope) override;
  Operation apply(const Scope& scope, const ScopeGradient& gradient,
                  const Variable& variable) override;

 private:
  const Input learning_rate_;
  const Input momentum_;
  const Kind kind_;
  Output rate_, kept_;
};

// accumulator += gradient^2; var -= learning_rate * gradient / sqrt(accumulator).
class AdagradOptimizer : public Optimizer {
 public:
  explicit AdagradOptimizer(Input learning_rate, double initial_accumulator_value = 0.1,
                            OptimizerOptions options = {});

 protected:
  void create_slots(const VariableScope& scope, const std::vector<Variable>& variables) override;
  void prepare(const Scope& scope) override;
  Operation apply(const Scope& scope, const ScopeGradient& gradient,
                  const Variable& variable) override;

 private:
  const Input learning_rate_;
  const double initial_;
  Output rate_;
};

struct AdamOptions {
  Input beta1 = 0.9;
  Input beta2 = 0.999;
  Input epsilon = 1e-8;
  bool use_locking = false;
  std::string name = {};
};

// m = beta1 * m + (1 - beta1) * gradient; v = beta2 * v + (1 - beta2) * gradient^2; var -=
// learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon).
// Rows change m, v and the variable everywhere, as if the other rows had a gradient of 0.
class AdamOptimizer : public Optimizer {
 public:
  explicit AdamOptimizer(Input learning_rate = 0.001, AdamOptions options = {});

 protected:
  void create_slots(const VariableScope& scope, const std::vector<Variable>& variables) override;
  void prepare(const Scope& scope) override;
  Operation apply(const Scope& scope, const ScopeGradient& gradient,
                  const Variable& variable) override;
  std::vector<Operation> finish(const Scope& scope, const std::vector<Operation>& updates) override;

 private:
  Operation apply_rows(const Scope& scope, const ScopeGradient& rows, const Variable& variable,
                       const std::vector<Output>& parameters);
  Output averaged(const Scope& scope, const Variable& mean, const Output& beta,
                  const Output& values, const Output& indices) const;

  const Input learning_rate_;
  const AdamOptions options_;
  Variable beta1_power_, beta2_power_;
  Output rate_, beta1_, beta2_, epsilon_;
};

struct RMSPropOptions {
  Input decay = 0.9;
  Input momentum = 0.0;
  Input epsilon = 1e-10;
  bool centered = false;  // divides by the variance of the gradient instead of its mean square
  bool use_locking = false;
  std::string name = {};
};

// rms = decay * rms + (1 - decay) * gradient^2; momentum = m * momentum + learning_rate * gradient
// / sqrt(rms + epsilon); var -= momentum.
class RMSPropOptimizer : public Optimizer {
 public:
  explicit RMSPropOptimizer(Input learning_rate, RMSPropOptions options = {});

 protected:
  void create_slots(const VariableScope& scope, const std::vector<Variable>& variables) override;
  void prepare(const Scope& scope) override;
  Operation apply(const Scope& scope, const ScopeGradient& gradient,
                  const Variable& variable) override;

 private:
  const Input learning_rate_;
  const RMSPropOptions options_;
  Output rate_, decay_, momentum_, epsilon_;
};

}  // namespace millrace

// Part of families.h: register_averaging.
#include <cmath>

#include "millrace/ops/training/families.h"
#include "millrace/ops/training/optimizer.h"

namespace millrace {
namespace {

// var, ms, mom
template <class M>
struct RmsProp {
  static constexpr int kVariables = 3;
  static constexpr bool kInFours = true;
  M rate, rho, momentum, epsilon;
  explicit RmsProp(const Settings<M>& given)
      : rate(given[0]), rho(given[1]), momentum(given[2]), epsilon(given[3]) {}
  template <class V>
  void operator()(std::array<V, 3>& x, V gradient) const {
    x[1] += (gradient * gradient - x[1]) * (M(1) - rho);
    x[2] = x[2] * momentum + gradient * rate / root(x[1] + epsilon);
    x[0] -= x[2];
  }
};

// var, mg, ms, mom
template <class M>
struct CenteredRmsProp {
  static constexpr int kVariables = 4;
  static constexpr bool kInFours = true;
  M rate, rho, momentum, epsilon;
  explicit CenteredRmsProp(const Settings<M>& given)
      : rate(given[0]), rho(given[1]), momentum(given[2]), epsilon(given[3]) {}
  template <class V>
  void operator()(std::array<V, 4>& x, V gradient) const {
    x[2] += (gradient * gradient - x[2]) * (M(1) - rho);
    x[1] += (gradient - x[1]) * (M(1) - rho);
    const V variance = x[2] - x[1] * x[1] + epsilon;
    x[3] = x[3] * momentum + gradient * rate / root(variance);
    x[0] -= x[3];
  }
};

// var, accum, accum_update
template <class M>
struct Adadelta {
  static constexpr int kVariables = 3;
  static constexpr bool kInFours = true;
  M rate, rho, epsilon;
  explicit Adadelta(const Settings<M>& given) : rate(given[0]), rho(given[1]), epsilon(given[2]) {}
  template <class V>
  void operator()(std::array<V, 3>& x, V gradient) const {
    x[1] = x[1] * rho + gradient * gradient * (M(1) - rho);
    const V update = root(x[2] + epsilon) / root(x[1] + epsilon) * gradient;
    x[0] -= update * rate;
    x[2] = x[2] * rho + update * update * (M(1) - rho);
  }
};

// What Adam and its kin make of the means, which begin at 0 and are too small at first.
template <class M>
M corrected_rate(M rate, M beta1_power, M beta2_power) {
  return rate * std::sqrt(M(1) - beta2_power) / (M(1) - beta1_power);
}

// var, m, v
template <class M>
struct Adam {
  static constexpr int kVariables = 3;
  static constexpr bool kInFours = true;
  M rate, beta1, beta2, epsilon;
  bool looks_ahead;
  explicit Adam(const Settings<M>& given)
      : rate(corrected_rate(given[2], given[0], given[1])),
        beta1(given[3]),
        beta2(given[4]),
        epsilon(given[5]),
        looks_ahead(given.flag) {}
  template <class V>
  void operator()(std::array<V, 3>& x, V gradient) const {
    x[1] += (gradient - x[1]) * (M(1) - beta1);
    x[2] += (gradient * gradient - x[2]) * (M(1) - beta2);
    const V towards = looks_ahead ? gradient * (M(1) - beta1) + beta1 * x[1] : x[1];
    x[0] -= towards * rate / (root(x[2]) + epsilon);
  }
};

// var, m, v, vhat
template <class M>
struct AdamWithAmsgrad {
  static constexpr int kVariables = 4;
  M rate, beta1, beta2, epsilon;
  explicit AdamWithAmsgrad(const Settings<M>& given)
      : rate(corrected_rate(given[2], given[0], given[1])),
        beta1(given[3]),
        beta2(given[4]),
        epsilon(given[5]) {}
  void operator()(std::array<M, 4>& x, M gradient) const {
    x[1] += (gradient - x[1]) * (M(1) - beta1);
    x[2] += (gradient * gradient - x[2]) * (M(1) - beta2);
    x[3] = std::max(x[3], x[2]);
    x[0] -= x[1] * rate / (std::sqrt(x[3]) + epsilon);
  }
};

// var, m, v
template <class M>
struct AdaMax {
  static constexpr int kVariables = 3;
  M rate, beta1, beta2, epsilon;
  explicit AdaMax(const Settings<M>& given)
      : rate(given[1] / (M(1) - given[0])), beta1(given[2]), beta2(given[3]), epsilon(given[4]) {}
  void operator()(std::array<M, 3>& x, M gradient) const {
    x[1] += (gradient - x[1]) * (M(1) - beta1);
    x[2] = std::max(beta2 * x[2], std::abs(gradient));
    x[0] -= rate * (x[1] / (x[2] + epsilon));
  }
};

}  // namespace

Status register_averaging(OpRegistry& ops) {
  MR_TRY(add_optimizer(
      ops, {.name = "RMSProp",
            .doc = "ms = rho * ms + (1 - rho) * grad^2; mom = momentum * mom + lr * grad / sqrt(ms "
                   "+ epsilon); var -= mom.",
            .variables = {"var", "ms", "mom"},
            .inputs = {"lr", "rho", "momentum", "epsilon", "grad"},
            .loop_for = &update_loop_for<RmsProp, Optimized>}));
  MR_TRY(add_optimizer(
      ops, {.name = "CenteredRMSProp",
            .doc = "As RMSProp, with the running mean of grad, mg, besides: mom = momentum * mom + "
                   "lr * grad / sqrt(ms - mg^2 + epsilon).",
            .variables = {"var", "mg", "ms", "mom"},
            .inputs = {"lr", "rho", "momentum", "epsilon", "grad"},
            .loop_for = &update_loop_for<CenteredRmsProp, Optimized>}));
  MR_TRY(add_optimizer(
      ops, {.name = "Adadelta",
            .doc = "accum = rho * accum + (1 - rho) * grad^2; u = sqrt(accum_update + epsilon) / "
                   "sqrt(accum + epsilon) * grad; var -= lr * u; accum_update = rho * accum_update "
                   "+ (1 - rho) * u^2.",
            .variables = {"var", "accum", "accum_update"},
            .inputs = {"lr", "rho", "epsilon", "grad"},
            .loop_for = &update_loop_for<Adadelta, Optimized>}));
  MR_TRY(add_optimizer(
      ops, {.name = "Adam",
            .doc = "m = beta1 * m + (1 - beta1) * grad; v = beta2 * v + (1 - beta2) * grad^2; var "
                   "-= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon).",
            .variables = {"var", "m", "v"},
            .inputs = {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"},
            .flag = "use_nesterov: bool = false",
            .loop_for = &update_loop_for<Adam, Optimized>,
            .has_sparse_form = false}));
  MR_TRY(add_optimizer(
      ops, {.name = "AdamWithAmsgrad",
            .doc = "As Adam, with the largest v that there ever was, vhat, in the place of v.",
            .variables = {"var", "m", "v", "vhat"},
            .inputs = {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"},
            .loop_for = &update_loop_for<AdamWithAmsgrad, OptimizedReal>,
            .has_reference_form = false,
            .has_sparse_form = false}));
  return add_optimizer(
      ops, {.name = "AdaMax",
            .doc = "m = beta1 * m + (1 - beta1) * grad; v = max(beta2 * v, |grad|); var -= lr / (1 "
                   "- beta1_power) * m / (v + epsilon).",
            .variables = {"var", "m", "v"},
            .inputs = {"beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"},
            .loop_for = &update_loop_for<AdaMax, OptimizedReal>,
            .has_sparse_form = false});
}

}  // namespace millrace

// Part of families.h: register_descents.
#include <cmath>

#include "millrace/ops/training/families.h"
#include "millrace/ops/training/optimizer.h"

namespace millrace {
namespace {

template <class M>
struct Descent {
  static constexpr int kVariables = 1;
  M rate;
  explicit Descent(const Settings<M>& given) : rate(given[0]) {}
  void operator()(std::array<M, 1>& x, M gradient) const { x[0] -= gradient * rate; }
};

template <class M>
struct Momentum {
  static constexpr int kVariables = 2;
  M rate, momentum;
  bool looks_ahead;
  explicit Momentum(const Settings<M>& given)
      : rate(given[0]), momentum(given[1]), looks_ahead(given.flag) {}
  void operator()(std::array<M, 2>& x, M gradient) const {
    x[1] = x[1] * momentum + gradient;
    x[0] -= looks_ahead ? gradient * rate + x[1] * momentum * rate : x[1] * rate;
  }
};

// As Momentum, but the rate is in what is accumulated.
template <class M>
struct KerasMomentum {
  static constexpr int kVariables = 2;
  M rate, momentum;
  bool looks_ahead;
  explicit KerasMomentum(const Settings<M>& given)
      : rate(given[0]), momentum(given[1]), looks_ahead(given.flag) {}
  void operator()(std::array<M, 2>& x, M gradient) const {
    x[1] = x[1] * momentum - gradient * rate;
    x[0] += looks_ahead ? x[1] * momentum - gradient * rate : x[1];
  }
};

template <class M>
struct ProximalDescent {
  static constexpr int kVariables = 1;
  M rate, l1, l2;
  explicit ProximalDescent(const Settings<M>& given) : rate(given[0]), l1(given[1]), l2(given[2]) {}
  void operator()(std::array<M, 1>& x, M gradient) const {
    const M moved = x[0] - gradient * rate;
    const M size = l1 > 0 ? std::max(std::abs(moved) - rate * l1, M(0)) : std::abs(moved);
    x[0] = std::copysign(size, moved) / (M(1) + rate * l2);
  }
};

template <class M>
M sign_of(M x) {
  return static_cast<M>((x > 0) - (x < 0));
}

// Further where the gradient points where it pointed before.
template <class M>
struct AddSign {
  static constexpr int kVariables = 2;
  M rate, alpha, sign_decay, beta;
  explicit AddSign(const Settings<M>& given)
      : rate(given[0]), alpha(given[1]), sign_decay(given[2]), beta(given[3]) {}
  void operator()(std::array<M, 2>& x, M gradient) const {
    x[1] = x[1] * beta + gradient * (M(1) - beta);
    const M agreement = sign_of(gradient) * sign_of(x[1]);
    x[0] -= rate * (alpha + sign_decay * agreement) * gradient;
  }
};

template <class M>
struct PowerSign {
  static constexpr int kVariables = 2;
  M rate, log_base, sign_decay, beta;
  explicit PowerSign(const Settings<M>& given)
      : rate(given[0]), log_base(given[1]), sign_decay(given[2]), beta(given[3]) {}
  void operator()(std::array<M, 2>& x, M gradient) const {
    x[1] = x[1] * beta + gradient * (M(1) - beta);
    const M agreement = sign_of(gradient) * sign_of(x[1]);
    x[0] -= rate * std::exp(log_base * sign_decay * agreement) * gradient;
  }
};

}  // namespace

Status register_descents(OpRegistry& ops) {
  MR_TRY(add_optimizer(ops, {.name = "GradientDescent",
                             .doc = "var -= alpha * delta.",
                             .variables = {"var"},
                             .inputs = {"alpha", "delta"},
                             .loop_for = &update_loop_for<Descent, Optimized>,
                             .has_sparse_form = false}));
  MR_TRY(add_optimizer(
      ops, {.name = "Momentum",
            .doc = "accum = accum * momentum + grad; var -= lr * accum. With use_nesterov, var -= "
                   "lr * (grad + momentum * accum).",
            .variables = {"var", "accum"},
            .inputs = {"lr", "grad", "momentum"},
            .flag = "use_nesterov: bool = false",
            .loop_for = &update_loop_for<Momentum, Optimized>}));
  MR_TRY(add_optimizer(
      ops, {.name = "KerasMomentum",
            .doc = "accum = accum * momentum - lr * grad; var += accum. With use_nesterov, var += "
                   "accum * momentum - lr * grad.",
            .variables = {"var", "accum"},
            .inputs = {"lr", "grad", "momentum"},
            .flag = "use_nesterov: bool = false",
            .loop_for = &update_loop_for<KerasMomentum, Optimized>,
            .has_reference_form = false}));
  MR_TRY(add_optimizer(
      ops, {.name = "ProximalGradientDescent",
            .doc = "p = var - alpha * delta; var = sign(p) * max(|p| - alpha * l1, 0) / (1 + alpha "
                   "* l2).",
            .variables = {"var"},
            .inputs = {"alpha", "l1", "l2", "delta"},
            .loop_for = &update_loop_for<ProximalDescent, OptimizedReal>,
            .refuses_empty_rows = true}));
  MR_TRY(add_optimizer(
      ops, {.name = "AddSign",
            .doc = "m = beta * m + (1 - beta) * grad; var -= lr * (alpha + sign_decay * sign(grad) "
                   "* sign(m)) * grad.",
            .variables = {"var", "m"},
            .inputs = {"lr", "alpha", "sign_decay", "beta", "grad"},
            .loop_for = &update_loop_for<AddSign, OptimizedReal>,
            .has_sparse_form = false}));
  return add_optimizer(
      ops, {.name = "PowerSign",
            .doc = "m = beta * m + (1 - beta) * grad; var -= lr * exp(logbase * sign_decay * "
                   "sign(grad) * sign(m)) * grad.",
            .variables = {"var", "m"},
            .inputs = {"lr", "logbase", "sign_decay", "beta", "grad"},
            .loop_for = &update_loop_for<PowerSign, OptimizedReal>,
            .has_sparse_form = false});
}

}  // namespace millrace

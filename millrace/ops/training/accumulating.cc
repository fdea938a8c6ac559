// Part of families.h: register_accumulating.
#include <cmath>

#include "millrace/ops/training/families.h"
#include "millrace/ops/training/optimizer.h"

namespace millrace {
namespace {

template <class M>
struct Adagrad {
  static constexpr int kVariables = 2;
  static constexpr bool kInFours = true;
  M rate;
  bool accumulates;
  explicit Adagrad(const Settings<M>& given) : rate(given[0]), accumulates(given.flag) {}
  template <class V>
  void operator()(std::array<V, 2>& x, V gradient) const {
    if (accumulates) x[1] += gradient * gradient;
    x[0] -= gradient * rate / root(x[1]);
  }
};

template <class M>
struct AdagradV2 {
  static constexpr int kVariables = 2;
  static constexpr bool kInFours = true;
  M rate, epsilon;
  bool accumulates;
  explicit AdagradV2(const Settings<M>& given)
      : rate(given[0]), epsilon(given[1]), accumulates(given.flag) {}
  template <class V>
  void operator()(std::array<V, 2>& x, V gradient) const {
    if (accumulates) x[1] += gradient * gradient;
    x[0] -= gradient * rate / (root(x[1]) + epsilon);
  }
};

// What is left of x when l1 has drawn it towards zero.
template <class M>
M shrunk(M x, M l1) {
  return l1 > 0 ? std::copysign(std::max(std::abs(x) - l1, M(0)), x) : x;
}

template <class M>
struct ProximalAdagrad {
  static constexpr int kVariables = 2;
  M rate, l1, l2;
  explicit ProximalAdagrad(const Settings<M>& given) : rate(given[0]), l1(given[1]), l2(given[2]) {}
  void operator()(std::array<M, 2>& x, M gradient) const {
    x[1] += gradient * gradient;
    const M own_rate = rate / std::sqrt(x[1]);
    x[0] = shrunk(x[0] - gradient * own_rate, own_rate * l1) / (M(1) + own_rate * l2);
  }
};

// Dual averaging: the variable is made anew from the sums of all gradients.
template <class M>
struct AdagradDA {
  static constexpr int kVariables = 3;
  M rate, l1, l2, steps;
  explicit AdagradDA(const Settings<M>& given)
      : rate(given[0]), l1(given[1]), l2(given[2]), steps(given[3]) {}
  void operator()(std::array<M, 3>& x, M gradient) const {
    x[1] += gradient;
    x[2] += gradient * gradient;
    x[0] = -rate * shrunk(x[1], l1 * steps) / (l2 * steps * rate + std::sqrt(x[2]));
  }
};

template <class M>
M to_the(M x, M power) {
  return power == M(0.5f) ? std::sqrt(x) : std::pow(x, power);
}

// One step of follow-the-regularized-leader. `scale` is what the linear part is kept multiplied
// with: 1, or the rate.
template <class M>
struct Leader {
  M rate, l1, l2, power;
  bool multiplies;
  void step(std::array<M, 3>& x, M gradient, M shrunk_gradient) const {
    const M scale = multiplies ? rate : M(1);
    const M over = multiplies ? M(1) : rate;
    const M sum = x[1] + gradient * gradient;
    const M now = to_the(sum, -power);
    x[2] += shrunk_gradient * scale - (now - to_the(x[1], -power)) / over * x[0];
    const M bound = l1 * scale;
    const M below = now / over + M(2) * l2 * scale;
    x[0] = std::abs(x[2]) > bound ? (std::copysign(bound, x[2]) - x[2]) / below : M(0);
    x[1] = sum;
  }
};

template <class M>
struct Ftrl {
  static constexpr int kVariables = 3;
  Leader<M> leader;
  explicit Ftrl(const Settings<M>& given)
      : leader{given[0], given[1], given[2], given[3], given.flag} {}
  void operator()(std::array<M, 3>& x, M gradient) const { leader.step(x, gradient, gradient); }
};

template <class M>
struct FtrlV2 {
  static constexpr int kVariables = 3;
  Leader<M> leader;
  M shrinkage;
  explicit FtrlV2(const Settings<M>& given)
      : leader{given[0], given[1], given[2], given[4], given.flag}, shrinkage(given[3]) {}
  void operator()(std::array<M, 3>& x, M gradient) const {
    leader.step(x, gradient, gradient + M(2) * shrinkage * x[0]);
  }
};

constexpr const char* kUpdateSlots = "update_slots: bool = true";
constexpr const char* kMultiplyLinear = "multiply_linear_by_lr: bool = false";

std::vector<SignedInput> leader_signs() {
  return {{"lr", Sign::positive_or_flagged},
          {"l1", Sign::not_negative},
          {"l2", Sign::not_negative},
          {"lr_power", Sign::not_positive}};
}

}  // namespace

Status register_accumulating(OpRegistry& ops) {
  MR_TRY(add_optimizer(ops, {.name = "Adagrad",
                             .doc = "accum += grad^2, with update_slots; var -= lr * grad / "
                                    "sqrt(accum).",
                             .variables = {"var", "accum"},
                             .inputs = {"lr", "grad"},
                             .flag = kUpdateSlots,
                             .loop_for = &update_loop_for<Adagrad, Optimized>,
                             .refuses_empty_rows = true}));
  MR_TRY(add_optimizer(ops, {.name = "AdagradV2",
                             .doc = "accum += grad^2, with update_slots; var -= lr * grad / "
                                    "(sqrt(accum) + epsilon).",
                             .variables = {"var", "accum"},
                             .inputs = {"lr", "epsilon", "grad"},
                             .flag = kUpdateSlots,
                             .loop_for = &update_loop_for<AdagradV2, Optimized>,
                             .refuses_empty_rows = true}));
  MR_TRY(add_optimizer(
      ops,
      {.name = "ProximalAdagrad",
       .doc = "accum += grad^2; r = lr / sqrt(accum); p = var - r * grad; "
              "var = sign(p) * max(|p| - r * l1, 0) / (1 + r * l2).",
       .variables = {"var", "accum"},
       .inputs = {"lr", "l1", "l2", "grad"},
       .loop_for = &update_loop_for<ProximalAdagrad, OptimizedReal>,
       .signs = {{"lr", Sign::positive}, {"l1", Sign::not_negative}, {"l2", Sign::not_negative}},
       .refuses_empty_rows = true}));
  MR_TRY(add_optimizer(
      ops, {.name = "AdagradDA",
            .doc = "Adds grad and grad^2 to the accumulators; var = -lr * (the first, drawn to 0 "
                   "by l1 * global_step) / (l2 * global_step * lr + the root of the second).",
            .variables = {"var", "gradient_accumulator", "gradient_squared_accumulator"},
            .inputs = {"grad", "lr", "l1", "l2", "global_step"},
            .loop_for = &update_loop_for<AdagradDA, OptimizedReal>,
            .refuses_empty_rows = true}));
  MR_TRY(add_optimizer(
      ops, {.name = "Ftrl",
            .doc = "Follow the regularized leader: s = accum + grad^2; linear += grad - "
                   "(s^-lr_power - accum^-lr_power) / lr * var; var = (sign(linear) * l1 - linear) "
                   "/ (s^-lr_power / lr + 2 * l2) where |linear| > l1, else 0; accum = s.",
            .variables = {"var", "accum", "linear"},
            .inputs = {"grad", "lr", "l1", "l2", "lr_power"},
            .flag = kMultiplyLinear,
            .loop_for = &update_loop_for<Ftrl, OptimizedReal>,
            .signs = leader_signs(),
            .checks_signs_of_whole = false,
            .refuses_empty_rows = true}));
  std::vector<SignedInput> signs = leader_signs();
  signs.push_back({"l2_shrinkage", Sign::not_negative});
  return add_optimizer(
      ops, {.name = "FtrlV2",
            .doc = "As Ftrl, with 2 * l2_shrinkage * var added to the grad that goes into linear.",
            .variables = {"var", "accum", "linear"},
            .inputs = {"grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"},
            .flag = kMultiplyLinear,
            .loop_for = &update_loop_for<FtrlV2, OptimizedReal>,
            .signs = std::move(signs),
            .checks_signs_of_whole = false,
            .refuses_empty_rows = true});
}

}  // namespace millrace

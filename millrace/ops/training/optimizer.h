// An optimizer as a value, and the ops that are made of it.
//
// A rule is arithmetic on one element of each variable: its own (first), and the slots that the
// optimizer keeps beside it. It is made from the scalar inputs, in the order in which the op takes
// them, and from the op's flag:
//
//   template <class M>
//   struct Descent {
//     static constexpr int kVariables = 1;
//     M rate;
//     explicit Descent(const Settings<M>& given) : rate(given[0]) {}
//     void operator()(std::array<M, 1>& x, M gradient) const { x[0] -= gradient * rate; }
//   };
//
//   MR_TRY(add_optimizer(ops, {.name = "GradientDescent", …,
//                              .loop_for = &update_loop_for<Descent, FloatingOrComplex>}));
//
// What all the ops do: they check everything before they write anything; they lock all their
// variables, whatever use_locking says (families.h of ops/state tells why), in the order of the
// mutexes' addresses, so that no two of them wait for each other in a circle; they write in place
// if nobody else has the buffer; and they don't look at the step's cancellation, because half an
// update would outlive the step.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "millrace/op/registry.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What an optimizer takes besides variables and gradient, untyped.
struct UpdateSettings {
  std::vector<Tensor> scalars;  // of the variables' type, or int64
  bool flag = false;
};

// Of each variable the rows that are named, `length` elements each, updated one after the other by
// the rows of the gradient, which follow each other. The whole of a variable is its row 0.
using UpdateLoop = void (*)(std::span<char* const> variables, const char* gradient,
                            std::span<const int64_t> rows, int64_t length,
                            const UpdateSettings& settings);

// What an op demands of a scalar before it computes with it. Not a number is of no sign.
enum class Sign : uint8_t { positive, positive_or_flagged, not_negative, not_positive };
struct SignedInput {
  std::string name;
  Sign sign;  // positive_or_flagged: with the op's flag, 0 will do
};

struct OptimizerOp {
  std::string name;  // without "Apply"
  std::string doc;   // what becomes of the variable
  std::vector<std::string> variables;
  // In the order of the op's arguments: scalars by name ("lr"), "grad" or "delta" for the gradient,
  // and "global_step", which is an int64. Where rows are named, "indices" follow the gradient.
  std::vector<std::string> inputs;
  std::string flag = {};  // an attribute: "use_nesterov: bool = false"
  UpdateLoop (*loop_for)(DType);
  // As TensorFlow's kernels have it: some look at signs only where rows are named, and some refuse
  // rows without elements.
  std::vector<SignedInput> signs = {};
  bool checks_signs_of_whole = true, refuses_empty_rows = false;
  bool has_reference_form = true, has_sparse_form = true;
};

// Adds Apply… and its kin.
Status add_optimizer(OpRegistry& ops, const OptimizerOp& optimizer);

// --- loops of rules ---

// Four floats that a rule may be applied to at once: one that says kInFours, whose operator takes
// any V for its elements and does only arithmetic with them, and root(). g++ makes no vectors of
// square roots by itself: the scalar one may set errno.
using Four = float __attribute__((vector_size(16)));

template <class V>
V root(V x) {
#if defined(__x86_64__)
  if constexpr (std::is_same_v<V, Four>) {
    return Four(_mm_sqrt_ps(x));
  } else {
    return std::sqrt(x);
  }
#else
  if constexpr (std::is_same_v<V, Four>) {
    return Four{std::sqrt(x[0]), std::sqrt(x[1]), std::sqrt(x[2]), std::sqrt(x[3])};
  } else {
    return std::sqrt(x);
  }
#endif
}

template <class Rule, class T>
inline constexpr bool kGoesInFours = std::is_same_v<T, float>&& requires {
  Rule::kInFours;
};

// The scalars of an optimizer, as its rule computes with them.
template <class M>
struct Settings {
  std::array<M, 8> values{};
  bool flag = false;

  explicit Settings(const UpdateSettings& given) : flag(given.flag) {
    for (size_t i = 0; i < given.scalars.size() && i < values.size(); ++i)
      values[i] = read(given.scalars[i]);
  }
  M operator[](size_t i) const { return values[i]; }

 private:
  static M read(const Tensor& scalar) {
    if (scalar.dtype() == DType::i64) return static_cast<M>(scalar.item<int64_t>());
    if constexpr (std::is_same_v<M, float>) {
      if (scalar.dtype() == DType::f16) return static_cast<float>(scalar.item<Half>());
      if (scalar.dtype() == DType::bf16) return static_cast<float>(scalar.item<BFloat16>());
    }
    return scalar.item<M>();
  }
};

// Elements [0, n) in fours, as far as they go: how many were done.
template <class Rule>
int64_t update_in_fours(const Rule& rule, float* const* x, const float* gradient, int64_t n) {
  constexpr int kVariables = Rule::kVariables;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    std::array<Four, kVariables> at;
    Four g;
    std::memcpy(&g, gradient + i, sizeof(g));
    for (int v = 0; v < kVariables; ++v) std::memcpy(&at[v], x[v] + i, sizeof(Four));
    rule(at, g);
    for (int v = 0; v < kVariables; ++v) std::memcpy(x[v] + i, &at[v], sizeof(Four));
  }
  return i;
}

template <template <class> class Rule, class T>
void update_loop(std::span<char* const> variables, const char* gradient,
                 std::span<const int64_t> rows, int64_t length, const UpdateSettings& settings) {
  using M = cpu::Math<T>;
  constexpr int kVariables = Rule<M>::kVariables;
  const Rule<M> rule{Settings<M>(settings)};
  const T* g = reinterpret_cast<const T*>(gradient);
  T* x[kVariables];
  for (const int64_t row : rows) {
    for (int v = 0; v < kVariables; ++v) x[v] = reinterpret_cast<T*>(variables[v]) + row * length;
    int64_t first = 0;
    if constexpr (kGoesInFours<Rule<M>, T>) first = update_in_fours(rule, x, g, length);
    MR_INDEPENDENT
    for (int64_t i = first; i < length; ++i) {
      std::array<M, kVariables> at;
      for (int v = 0; v < kVariables; ++v) at[v] = static_cast<M>(x[v][i]);
      rule(at, static_cast<M>(g[i]));
      for (int v = 0; v < kVariables; ++v) x[v][i] = static_cast<T>(at[v]);
    }
    g += length;
  }
}

template <template <class> class Rule, class TypeList>
UpdateLoop update_loop_for(DType dtype) {
  return cpu::pick<UpdateLoop>(TypeList(), dtype,
                               []<class T>() -> UpdateLoop { return &update_loop<Rule, T>; });
}

using OptimizedReal = cpu::Floating;
using Optimized = cpu::Join<cpu::Floating, cpu::Complex>;

}  // namespace millrace

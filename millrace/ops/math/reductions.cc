// Part of families.h: register_reductions.
#include <cmath>
#include <limits>

#include "millrace/ops/loops/instructions.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/reduce.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"
#include "millrace/ops/math/known_elements.h"

namespace millrace {
namespace {

using cpu::Complex;
using cpu::Floating;
using cpu::Math;
using cpu::Number;
using cpu::Real;
using cpu::ReduceLoops;

// What sums and products of T are kept in: exact for integers (which wrap around only at the end),
// twice as wide for floats.
template <class T>
struct WideFor {
  using type = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
};
template <>
struct WideFor<BFloat16> {
  using type = float;
};
template <>
struct WideFor<Half> {
  using type = float;
};
template <>
struct WideFor<float> {
  using type = double;
};
template <>
struct WideFor<double> {
  using type = double;
};
template <>
struct WideFor<std::complex<float>> {
  using type = std::complex<double>;
};
template <>
struct WideFor<std::complex<double>> {
  using type = std::complex<double>;
};
template <class T>
using Wide = typename WideFor<T>::type;

// How one kind of reduction folds: what it starts from, and how two partial results combine.
struct Adding {
  template <class T>
  using Accumulator = Wide<T>;
  template <class A>
  static A start() {
    return A(0);
  }
  template <class A>
  static A combine(A a, A b) {
    return cpu::add(a, b);
  }
};

struct Multiplying {
  template <class T>
  using Accumulator = Wide<T>;
  template <class A>
  static A start() {
    return A(1);
  }
  template <class A>
  static A combine(A a, A b) {
    return cpu::multiply(a, b);
  }
};

// NaN, once met, stays.
struct Raising {
  template <class T>
  using Accumulator = Math<T>;
  template <class A>
  static A start() {
    using Limits = std::numeric_limits<A>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  template <class A>
  static A combine(A a, A b) {
    return cpu::choose((b > a) | (b != b), b, a);
  }
};

struct Lowering {
  template <class T>
  using Accumulator = Math<T>;
  template <class A>
  static A start() {
    using Limits = std::numeric_limits<A>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  template <class A>
  static A combine(A a, A b) {
    return cpu::choose((b < a) | (b != b), b, a);
  }
};

struct AllTrue {
  template <class T>
  using Accumulator = bool;
  template <class A>
  static A start() {
    return true;
  }
  template <class A>
  static A combine(A a, A b) {
    return a && b;
  }
};

struct AnyTrue {
  template <class T>
  using Accumulator = bool;
  template <class A>
  static A start() {
    return false;
  }
  template <class A>
  static A combine(A a, A b) {
    return a || b;
  }
};

template <class A, class T>
A widened(const T& value) {
  return static_cast<A>(static_cast<Math<T>>(value));
}

template <class How, class T>
MR_BODY void fold_body(const void* in, int64_t n, void* accumulators, int64_t step) {
  using A = typename How::template Accumulator<T>;
  const T* x = static_cast<const T*>(in);
  A* acc = static_cast<A*>(accumulators);
  if (step != 0) {
    for (int64_t i = 0; i < n; ++i) acc[i] = How::combine(acc[i], widened<A>(x[i]));
    return;
  }
  // Several partial results, because one after the other would wait for each other.
  constexpr int64_t kLanes = 32 / sizeof(A) * 4;
  A lanes[kLanes];
  for (A& lane : lanes) lane = How::template start<A>();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = How::combine(lanes[lane], widened<A>(x[i + lane]));
  }
  A total = *acc;
  for (const A lane : lanes) total = How::combine(total, lane);
  for (; i < n; ++i) total = How::combine(total, widened<A>(x[i]));
  *acc = total;
}
template <class How, class T>
void fold(const void* in, int64_t n, void* accumulators, int64_t step) {
  fold_body<How, T>(in, n, accumulators, step);
}
template <class How, class T>
MR_AVX2 void fold_avx2(const void* in, int64_t n, void* accumulators, int64_t step) {
  fold_body<How, T>(in, n, accumulators, step);
}

using Fold = void (*)(const void*, int64_t, void*, int64_t);
template <class How, class T>
Fold fold_of() {
  if constexpr (std::is_arithmetic_v<T>) {
    return cpu::widest<Fold>(&fold<How, T>, &fold_avx2<How, T>);
  } else {
    return &fold<How, T>;
  }
}

template <class How, class A>
void merge(const void* from, void* accumulators, int64_t n) {
  const A* x = static_cast<const A*>(from);
  A* acc = static_cast<A*>(accumulators);
  for (int64_t i = 0; i < n; ++i) acc[i] = How::combine(acc[i], x[i]);
}

template <class How, class A>
void reset(void* accumulators, int64_t n) {
  std::fill_n(static_cast<A*>(accumulators), n, How::template start<A>());
}

template <class T, class A>
T narrowed(A value) {
  return static_cast<T>(static_cast<Math<T>>(value));
}

template <class T, class A>
void finish(const void* accumulators, void* out, int64_t n, int64_t) {
  const A* acc = static_cast<const A*>(accumulators);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = narrowed<T>(acc[i]);
}

template <class T, class A>
void finish_mean(const void* accumulators, void* out, int64_t n, int64_t count) {
  const A* acc = static_cast<const A*>(accumulators);
  T* y = static_cast<T*>(out);
  if (std::is_integral_v<A> && count == 0) {
    std::fill_n(y, n, T());
    return;
  }
  for (int64_t i = 0; i < n; ++i) y[i] = narrowed<T>(acc[i] / static_cast<A>(count));
}

template <class T, class A>
void finish_half(const void* accumulators, void* out, int64_t n, int64_t) {
  const A* acc = static_cast<const A*>(accumulators);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = narrowed<T>(acc[i] / A(2));
}

template <class How, class T>
ReduceLoops loops_of() {
  using A = typename How::template Accumulator<T>;
  return {fold_of<How, T>(), &reset<How, A>, &merge<How, A>, &finish<T, A>, dtype_of<A>};
}

using MakeLoops = ReduceLoops (*)();

template <class How, class TypeList>
ReduceLoops loops_for(DType dtype) {
  const MakeLoops make = cpu::pick<MakeLoops>(
      TypeList(), dtype, []<class T>() -> MakeLoops { return &loops_of<How, T>; });
  return make == nullptr ? ReduceLoops{} : make();
}

using Finish = void (*)(const void*, void*, int64_t, int64_t);

ReduceLoops mean_loops(DType dtype) {
  ReduceLoops loops = loops_for<Adding, Number>(dtype);
  loops.finish = cpu::pick<Finish>(Number(), dtype,
                                   []<class T>() -> Finish { return &finish_mean<T, Wide<T>>; });
  return loops;
}

// --- L2Loss ---

template <class T>
void fold_squares(const void* in, int64_t n, void* accumulators, int64_t) {
  using A = Wide<T>;
  const T* x = static_cast<const T*>(in);
  // Several partial results, because one after the other would wait for each other.
  constexpr int64_t kLanes = 16;
  A lanes[kLanes] = {};
  A total = *static_cast<A*>(accumulators);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += widened<A>(x[i + lane]) * widened<A>(x[i + lane]);
  }
  for (const A lane : lanes) total += lane;
  for (; i < n; ++i) total += widened<A>(x[i]) * widened<A>(x[i]);
  *static_cast<A*>(accumulators) = total;
}

template <class T>
ReduceLoops squares_loops_of() {
  using A = Wide<T>;
  return {&fold_squares<T>, &reset<Adding, A>, &merge<Adding, A>, &finish_half<T, A>, dtype_of<A>};
}

Result<Tensor> l2_loss(KernelContext& context, MakeLoops loops) {
  MR_ASSIGN(const Tensor flat, context.input(0).reshaped({context.input(0).num_elements()}));
  const int64_t axis = 0;
  return cpu::reduce(context, flat, {&axis, 1}, cpu::KeepDims::no, loops());
}

// --- EuclideanNorm ---

// The square of the size of an element, in what squares are added up in.
template <class A>
A squared(A x) {
  if constexpr (cpu::kIsComplex<A>) {
    return A(std::norm(x));
  } else {
    return cpu::multiply(x, x);
  }
}

template <class T>
void fold_norm(const void* in, int64_t n, void* accumulators, int64_t step) {
  using A = Wide<T>;
  const T* x = static_cast<const T*>(in);
  A* acc = static_cast<A*>(accumulators);
  for (int64_t i = 0; i < n; ++i)
    acc[i * step] = cpu::add(acc[i * step], squared(widened<A>(x[i])));
}

template <class T, class A>
void finish_root(const void* accumulators, void* out, int64_t n, int64_t) {
  const A* acc = static_cast<const A*>(accumulators);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<A>) {
      y[i] = static_cast<T>(std::sqrt(static_cast<double>(acc[i])));
    } else {
      y[i] = narrowed<T>(std::sqrt(acc[i]));
    }
  }
}

template <class T>
ReduceLoops norm_loops_of() {
  using A = Wide<T>;
  return {&fold_norm<T>, &reset<Adding, A>, &merge<Adding, A>, &finish_root<T, A>, dtype_of<A>};
}

ReduceLoops norm_loops(DType dtype) {
  const MakeLoops make = cpu::pick<MakeLoops>(
      Number(), dtype, []<class T>() -> MakeLoops { return &norm_loops_of<T>; });
  return make == nullptr ? ReduceLoops{} : make();
}

struct ReductionOp {
  std::string name, doc, types;
  ReduceLoops (*loops_for)(DType);
  GradFn gradient;
  std::vector<std::string> examples;
  ElementsFn elements = nullptr;
};

Status add_reduction(OpRegistry& ops, ReductionOp row) {
  const bool is_logical = row.types == "bool";
  const std::string attrs =
      str_cat("keep_dims: bool = false, ", is_logical ? "" : str_cat("T: ", row.types, ", "),
              "Tidx: {int32, int64} = int32");
  const std::string_view type = is_logical ? "bool" : "T";
  return ops.add({
      .name = std::move(row.name),
      .doc = std::move(row.doc),
      .signature =
          str_cat("input: ", type, ", reduction_indices: Tidx -> output: ", type, " | ", attrs),
      .infer = cpu::infer_reduced,
      .cpu = cpu::reducing(row.loops_for),
      .grad = row.gradient,
      .not_differentiable = is_logical ? "its result is true or false" : std::string(),
      .elements = row.elements,
      .examples = std::move(row.examples),
  });
}

}  // namespace

Status register_reductions(OpRegistry& ops) {
  MR_TRY(add_reduction(
      ops, {"Sum",
            "The sum of the elements along the named axes.",
            "number",
            &loops_for<Adding, Number>,
            grad::sum,
            {"[[1 2 3] [4 5 6]], 0 -> [5 7 9]", "[[1 2 3] [4 5 6]], [-1] -> [6 15]",
             "[[1 2 3] [4 5 6]], [0 1] -> [[21]] | keep_dims = true",
             "[1 2 3 4 5 6 7 8 9 10 11], 0 -> 66", "[1 2], [] -> [1 2]", "[], 0 -> 0"}}));
  MR_TRY(add_reduction(ops, {"Mean",
                             "The mean of the elements along the named axes.",
                             "number",
                             &mean_loops,
                             grad::mean,
                             {"[[1 2 3] [3 4 5]], 0 -> [2 3 4]"}}));
  MR_TRY(add_reduction(
      ops, {"Prod",
            "The product of the elements along the named axes.",
            "number",
            &loops_for<Multiplying, Number>,
            grad::prod,
            {"[[1 2 3] [4 5 2]], 1 -> [6 40]", "[[1 0 3] [0 5 0]], 1 -> [0 0]",
             "[[[1 2] [3 4]]], [0 2] -> [2 12]", "[1 2 3], 0 -> [6] | keep_dims = true"},
            known::product_of_all}));
  MR_TRY(add_reduction(ops,
                       {"EuclideanNorm",
                        "The root of the sum of the squares of the elements along the named axes.",
                        "number",
                        &norm_loops,
                        grad::euclidean_norm,
                        {"[[3 4] [5 12]], 1 -> [5 13]", "[3 4], 0 -> [5] | keep_dims = true"}}));
  MR_TRY(
      add_reduction(ops, {"Max",
                          "The largest element along the named axes.",
                          "real",
                          &loops_for<Raising, Real>,
                          grad::extreme,
                          {"[[1 9 3] [4 5 6]], 0 -> [4 9 6]", "[1 nan 3], 0 -> nan | T = float"}}));
  MR_TRY(add_reduction(ops, {"Min",
                             "The smallest element along the named axes.",
                             "real",
                             &loops_for<Lowering, Real>,
                             grad::extreme,
                             {"[[1 9 3] [4 5 6]], 0 -> [1 5 3]"}}));
  MR_TRY(add_reduction(ops, {"All",
                             "Whether all elements along the named axes are true.",
                             "bool",
                             &loops_for<AllTrue, cpu::Types<bool>>,
                             nullptr,
                             {"[[true false] [true true]], 0 -> [true false]"}}));
  MR_TRY(add_reduction(ops, {"Any",
                             "Whether any element along the named axes is true.",
                             "bool",
                             &loops_for<AnyTrue, cpu::Types<bool>>,
                             nullptr,
                             {"[[true false] [false false]], 1 -> [true false]"}}));
  return ops.add({
      .name = "L2Loss",
      .doc = "Half the sum of the squares of all elements.",
      .signature = "t: T -> output: T | T: floating",
      .infer = infer::scalar,
      .cpu = kernel_with(
          l2_loss, cpu::loop_of_input<Floating>([]<class T>() { return &squares_loops_of<T>; })),
      .grad = grad::l2_loss,
      .examples = {"[[1 2] [3 0]] -> 7"},
  });
}

}  // namespace millrace

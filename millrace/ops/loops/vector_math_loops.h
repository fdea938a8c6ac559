// Part of vector_math.cc, which includes this once for each set of instructions, in a namespace of
// its own, with MR_FLOATS and MR_DOUBLES, how many there are in a vector,
// MR_OF_FLOATS(v_, f) and MR_OF_DOUBLES(v_, f), libmvec's name of C's function f of one such vector
// (vv_: of two), and MR_SQRT_OF_FLOATS and MR_SQRT_OF_DOUBLES, the instructions. It includes
// nothing: what it included would be compiled for those instructions, and might then be used by
// everybody.

using Floats = float __attribute__((vector_size(4 * MR_FLOATS)));
using Doubles = double __attribute__((vector_size(8 * MR_DOUBLES)));

extern "C" {
#define MR_DECLARE(name)                 \
  Floats MR_OF_FLOATS(v_, name)(Floats); \
  Doubles MR_OF_DOUBLES(v_, name)(Doubles);
MR_LIBMVEC_FUNCTIONS(MR_DECLARE)
#undef MR_DECLARE
#define MR_DECLARE(name)                          \
  Floats MR_OF_FLOATS(vv_, name)(Floats, Floats); \
  Doubles MR_OF_DOUBLES(vv_, name)(Doubles, Doubles);
MR_DECLARE(atan2)
MR_DECLARE(pow)
#undef MR_DECLARE
}

#define MR_OVERLOAD(name)                                            \
  inline Floats name(Floats x) { return MR_OF_FLOATS(v_, name)(x); } \
  inline Doubles name(Doubles x) { return MR_OF_DOUBLES(v_, name)(x); }
MR_LIBMVEC_FUNCTIONS(MR_OVERLOAD)
#undef MR_OVERLOAD
#define MR_OVERLOAD(name)                                                          \
  inline Floats name(Floats x, Floats y) { return MR_OF_FLOATS(vv_, name)(x, y); } \
  inline Doubles name(Doubles x, Doubles y) { return MR_OF_DOUBLES(vv_, name)(x, y); }
MR_OVERLOAD(atan2)
MR_OVERLOAD(pow)
#undef MR_OVERLOAD
inline Floats sqrt(Floats x) { return MR_SQRT_OF_FLOATS(x); }
inline Doubles sqrt(Doubles x) { return MR_SQRT_OF_DOUBLES(x); }

template <class V>
using Element = Unvectored<decltype(V{}[0])>;

template <class V>
V elu(V x) {
  return x < Element<V>(0) ? expm1(x) : x;
}
template <class V>
V selu(V x) {
  using T = Element<V>;
  return x < T(0) ? T(kSeluScaleAlpha) * expm1(x) : T(kSeluScale) * x;
}
template <class V>
V rsqrt(V x) {
  return Element<V>(1) / sqrt(x);
}
template <class V>
V sigmoid(V x) {
  return Element<V>(1) / (Element<V>(1) + exp(-x));
}
// For large x, exp(x) would overflow although the result is x itself.
template <class V>
V softplus(V x) {
  return x > Element<V>(30) ? x : log1p(exp(x));
}
template <class V>
V softplus_grad(V dy, V x) {
  return dy / (exp(-x) + Element<V>(1));
}

template <class V>
inline constexpr int64_t kLanes = sizeof(V) / sizeof(Element<V>);

template <class V>
V load(const Element<V>* from) {
  V x;
  __builtin_memcpy(&x, from, sizeof(V));
  return x;
}
// The first `count` elements, and the first of them again where there are no more.
template <class V>
V load(const Element<V>* from, int64_t count) {
  V x = V() + *from;
  __builtin_memcpy(&x, from, static_cast<size_t>(count) * sizeof(*from));
  return x;
}

template <class V, class F>
void each(const void* in, void* out, int64_t n) {
  const auto* x = static_cast<const Element<V>*>(in);
  auto* y = static_cast<Element<V>*>(out);
  int64_t i = 0;
  for (; i + kLanes<V> <= n; i += kLanes<V>) {
    const V made = F()(load<V>(x + i));
    __builtin_memcpy(y + i, &made, sizeof(V));
  }
  if (i == n) return;
  // A whole vector here too: an element's result must not depend on where it stands.
  const V made = F()(load<V>(x + i, n - i));
  __builtin_memcpy(y + i, &made, static_cast<size_t>(n - i) * sizeof(*y));
}

template <class V, class F>
void each_pair(const void* a, int64_t a_step, const void* b, int64_t b_step, void* out, int64_t n) {
  const auto* x = static_cast<const Element<V>*>(a);
  const auto* y = static_cast<const Element<V>*>(b);
  auto* z = static_cast<Element<V>*>(out);
  // Read before the first result takes its place, should it stand there. Less nothing, because -0
  // plus nothing would be 0.
  const V one_x = *x - V(), one_y = *y - V();
  for (int64_t i = 0; i < n; i += kLanes<V>) {
    const int64_t count = n - i < kLanes<V> ? n - i : kLanes<V>;
    const V made = F()(a_step == 0 ? one_x : load<V>(x + i, count),
                       b_step == 0 ? one_y : load<V>(y + i, count));
    __builtin_memcpy(z + i, &made, static_cast<size_t>(count) * sizeof(*z));
  }
}

// Rows of a matrix follow each other: the next one comes while this one is computed.
//
// Sums of some vectors are kept in their own type, those of more in double: so few lose nothing
// that anyone could tell, and converting each would cost as much as the exponential.
template <class V>
double exponentials(const void* in, double most, void* out, int64_t n) {
  constexpr int64_t kSummed = 32 * kLanes<V>;
  const auto* x = static_cast<const Element<V>*>(in);
  auto* y = static_cast<Element<V>*>(out);
  const V less = static_cast<Element<V>>(most) - V();
  double total = 0;
  int64_t i = 0;
  while (i < n) {
    const int64_t end = n - i < kSummed ? n : i + kSummed;
    V sums = {};
    for (; i + kLanes<V> <= end; i += kLanes<V>) {
      __builtin_prefetch(x + n + i);
      const V made = exp(load<V>(x + i) - less);
      __builtin_memcpy(y + i, &made, sizeof(V));
      sums += made;
    }
    if (i < end) {
      const auto bytes = static_cast<size_t>(end - i) * sizeof(*y);
      const V made = exp(load<V>(x + i, end - i) - less);
      __builtin_memcpy(y + i, &made, bytes);
      V counted = {};
      __builtin_memcpy(&counted, y + i, bytes);
      sums += counted;
      i = end;
    }
    for (int64_t lane = 0; lane < kLanes<V>; ++lane) total += static_cast<double>(sums[lane]);
  }
  return total;
}

#define MR_FUNCTOR(name) constexpr auto of_##name = [](auto... x) { return name(x...); };
// Each of the few sources that include this has its own, for its own kind of processor.
// NOLINTBEGIN(misc-definitions-in-headers)
MR_LIBMVEC_FUNCTIONS(MR_FUNCTOR)
MR_COMPOSED_FUNCTIONS(MR_FUNCTOR)
MR_FUNCTOR(atan2)
MR_FUNCTOR(pow)
MR_FUNCTOR(softplus_grad)
// NOLINTEND(misc-definitions-in-headers)
#undef MR_FUNCTOR

// By VectorFunction and by VectorPair.
template <class Loop, class V>
inline constexpr Loop kLoops[] = {nullptr};
template <class V>
inline constexpr VectorLoop kLoops<VectorLoop, V>[] = {
#define MR_LOOP(name) &each<V, decltype(of_##name)>,
    MR_LIBMVEC_FUNCTIONS(MR_LOOP) MR_COMPOSED_FUNCTIONS(MR_LOOP)
#undef MR_LOOP
};
template <class V>
inline constexpr VectorPairLoop kLoops<VectorPairLoop, V>[] = {
    &each_pair<V, decltype(of_atan2)>, &each_pair<V, decltype(of_pow)>,
    &each_pair<V, decltype(of_softplus_grad)>};
template <class V>
inline constexpr ExponentialsLoop kLoops<ExponentialsLoop, V>[] = {&exponentials<V>};

#include "millrace/ops/math/known_elements.h"

#include <algorithm>

namespace millrace::known {
namespace {

using Element = std::optional<int64_t>;

template <class F>
std::optional<KnownElements> joined(const InferContext& context, F f) {
  const auto a = context.elements(0), b = context.elements(1);
  if (!a || !b || (a->size() != b->size() && a->size() != 1 && b->size() != 1)) return std::nullopt;
  KnownElements all;
  const size_t count = a->size() == 1 ? b->size() : a->size();
  for (size_t i = 0; i < count; ++i) {
    const Element x = (*a)[a->size() == 1 ? 0 : i], y = (*b)[b->size() == 1 ? 0 : i];
    all.push_back(x && y ? f(*x, *y) : std::nullopt);
  }
  return all;
}

Element times(int64_t x, int64_t y) {
  int64_t z = 0;
  return __builtin_mul_overflow(x, y, &z) ? std::nullopt : Element(z);
}

}  // namespace

std::optional<KnownElements> sum(const InferContext& context) {
  return joined(context, [](int64_t x, int64_t y) {
    int64_t z = 0;
    return __builtin_add_overflow(x, y, &z) ? std::nullopt : Element(z);
  });
}

std::optional<KnownElements> difference(const InferContext& context) {
  return joined(context, [](int64_t x, int64_t y) {
    int64_t z = 0;
    return __builtin_sub_overflow(x, y, &z) ? std::nullopt : Element(z);
  });
}

std::optional<KnownElements> product(const InferContext& context) { return joined(context, times); }

std::optional<KnownElements> floored_quotient(const InferContext& context) {
  // Sizes alone: what else there is, the kernel knows.
  return joined(context, [](int64_t x, int64_t y) {
    return x >= 0 && y > 0 ? Element(x / y) : std::nullopt;
  });
}

std::optional<KnownElements> larger(const InferContext& context) {
  return joined(context, [](int64_t x, int64_t y) { return Element(std::max(x, y)); });
}

std::optional<KnownElements> smaller(const InferContext& context) {
  return joined(context, [](int64_t x, int64_t y) { return Element(std::min(x, y)); });
}

std::optional<KnownElements> product_of_all(const InferContext& context) {
  const auto all = context.all_elements(0), axes = context.all_elements(1);
  if (!all || !axes || axes->size() != 1 || context.input(0).rank() != 1) return std::nullopt;
  Element whole = 1;
  for (const int64_t each : *all) whole = whole ? times(*whole, each) : std::nullopt;
  return KnownElements{whole};
}

}  // namespace millrace::known

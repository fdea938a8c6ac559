// Draw: numbers, texts, shapes and tensors from a seed, most of them small and sensible, some of
// them such as nobody would send who means well: the ends of a type, sizes that overflow when they
// are multiplied, shapes of no elements but huge dimensions, texts that are no UTF-8.
//
// The same seed draws the same, on every machine. A value, for one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "millrace/tensor/tensor.h"

namespace millrace::hostile {

class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}

  uint64_t next();
  // From 0 to n - 1. Requires n > 0.
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  template <class Items>
  const auto& pick(const Items& items) {
    return items[static_cast<size_t>(below(static_cast<int64_t>(std::size(items))))];
  }

  // Between `lowest` and `highest`, which are the ends of the type that it is for.
  int64_t integer(int64_t lowest = std::numeric_limits<int64_t>::min(),
                  int64_t highest = std::numeric_limits<int64_t>::max());
  double real();
  std::string text();
  // Of at most some 10^5 elements.
  Shape shape();
  // Of the rank of `like`, with dimensions that are unknown or as long as a shape may be.
  PartialShape wide(const Shape& like);
  // `like` with a dimension or the rank changed.
  Shape changed(const Shape& like);

  // Elements of a plain type or texts. Errors: INVALID_ARGUMENT for types that have no such values.
  Result<Tensor> tensor(DType dtype, const Shape& shape);
  // One element of it made hostile. Needs a tensor that nobody shares.
  void spoil(Tensor& tensor);

 private:
  uint64_t state_;
};

}  // namespace millrace::hostile

// Random numbers as nodes, drawn the way that the Python front-end draws them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "millrace/api/input.h"
#include "millrace/tensor/shape.h"

namespace millrace {

// A shape as the vector that ops take: int32, or int64 where a size asks for it.
Input sizes_of(const Shape& shape);
// (seed, seed2) of an op by its own seed; (0, 0), which draws other numbers each time, without one.
std::pair<int64_t, int64_t> op_seeds(std::optional<int64_t> seed);
// Numbers from `from` up to and without `to`.
Output uniform(const Scope& scope, const Input& sizes, double from, double to, DType dtype,
               std::optional<int64_t> seed);

}  // namespace millrace

// The numbers that Sobol's sequences of many dimensions begin with, as S. Joe and F. Y. Kuo chose
// them ("Constructing Sobol sequences with better two-dimensional projections", 2008). Their
// licence is at the end of LICENSE, where every package has it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace millrace {

// Joe and Kuo have chosen numbers for 21201.
inline constexpr int kMostSobolDims = 2560;
inline constexpr int kSobolBits = 32;

// Of one dimension, a number for each bit of a point's place: the k-th is odd and below 2^(k + 1).
using SobolNumbers = std::array<uint32_t, kSobolBits>;

// Those of the first `dims` dimensions. Requires 1 <= dims <= kMostSobolDims.
std::vector<SobolNumbers> sobol_numbers(int dims);

}  // namespace millrace

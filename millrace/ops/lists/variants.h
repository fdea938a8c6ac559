// Arithmetic on variants, as far as there is any: zeros like one, and the sum of two. Both are what
// gradients of loops and conditionals need of the lists and optionals that carry their values.
#pragma once

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// The same list or optional, with zeros for what it holds; what is not set stays so.
// Errors: INVALID_ARGUMENT for variants of other types.
Result<Tensor> zeros_like_variants(const Tensor& variants);

// Element by element the lists or optionals that hold the sums of what `a` and `b` hold; an element
// of a list that is set in only one of them is taken from there.
// Errors: INVALID_ARGUMENT as above, and if a and b are not alike in type, length or shapes.
Result<Tensor> sum_of_variants(const Tensor& a, const Tensor& b);

}  // namespace millrace

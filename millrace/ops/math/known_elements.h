// What programs work out of sizes before anything runs (OpDef::elements): small sums and products.
#pragma once

#include "millrace/op/infer.h"

namespace millrace::known {

// Element by element, a single one with each of the other's; nullopt for other shapes. What is not
// known of one is not known of the result, nor what doesn't fit.
std::optional<KnownElements> sum(const InferContext& context);
std::optional<KnownElements> difference(const InferContext& context);
std::optional<KnownElements> product(const InferContext& context);
std::optional<KnownElements> floored_quotient(const InferContext& context);
std::optional<KnownElements> larger(const InferContext& context);
std::optional<KnownElements> smaller(const InferContext& context);
// The product of all elements.
std::optional<KnownElements> product_of_all(const InferContext& context);

}  // namespace millrace::known

// Batches of an input, for whoever makes some: what several elements become, and when.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "millrace/ops/data/dataset.h"

namespace millrace::data {

// The elements of a batch, at least one, become one.
using MakeBatch = std::function<Result<Element>(std::span<Element>)>;

// What becomes of the elements at the end that are too few for a batch.
enum class Remainder : uint8_t { kept, dropped };

// How many batches so many elements make; what is negative (kInfinite, kUnknown) stays.
int64_t batches_of(int64_t elements, int64_t size, Remainder remainder);

// Stacked, component by component: see rows.h.
Result<Element> stacked_batch(std::span<Element> elements);

// What an element that fails takes with it: the elements before it that lie in its batch, or those
// behind it too.
enum class Loss : uint8_t { those_before, the_batch };

// Requires size >= 1.
IteratorPtr batches(IteratorPtr input, int64_t size, Remainder remainder, MakeBatch make,
                    Loss loss = Loss::those_before);

}  // namespace millrace::data

// Batches of an input, for whoever makes some: what several elements become, and when.
#pragma once

#include <functional>
#include <span>

#include "millrace/ops/data/dataset.h"

namespace millrace::data {

// The elements of a batch, at least one, become one.
using MakeBatch = std::function<Result<Element>(std::span<Element>)>;

// What becomes of the elements at the end that are too few for a batch.
enum class Remainder : uint8_t { kept, dropped };

// Stacked, component by component: see rows.h.
Result<Element> stacked_batch(std::span<Element> elements);

// Requires size >= 1.
IteratorPtr batches(IteratorPtr input, int64_t size, Remainder remainder, MakeBatch make);

}  // namespace millrace::data

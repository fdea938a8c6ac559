// Datasets of what a function gives for each element of another one, for whoever makes some.
#pragma once

#include "millrace/op/op_def.h"
#include "millrace/ops/data/dataset.h"

namespace millrace::data {

// What a function's OUT_OF_RANGE means: the end, unless the node promised an element for each.
enum class OutOfRange : uint8_t { ends, is_error };

enum class Order : uint8_t { kept, any };

// Whether what a function gives for a batch has as many rows.
enum class Rows : uint8_t { any, kept };

// What is called at once, and how.
struct Parallel {
  size_t calls = 1;
  Order order = Order::kept;
  OutOfRange out_of_range = OutOfRange::ends;
  Rows rows = Rows::any;
};

// How many calls a node asks for. Errors: INVALID_ARGUMENT for none.
Result<size_t> calls_of(int64_t asked);
// From the attribute "sloppy", or "deterministic", which took its place.
Result<Order> order_of(const AttrView& attrs);

DatasetPtr mapped(Dataset::Components components, DatasetPtr input, CapturedPtr function,
                  const Parallel& parallel);

}  // namespace millrace::data

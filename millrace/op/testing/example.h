// Examples: what an op makes of given values, as text beside the op. The sweep of all ops runs them
// for every type that the op allows, and the reference pages show them.
//
//   example  =  [ values ] [ "->" values ] [ "|" NAME "=" literal { "," NAME "=" literal } ]
//   values   =  value { "," value }
//   value    =  NUMBER | "true" | "false" | 'text' | "[" { value } "]"
//
//   "[1 2], [3 4] -> [4 6]"
//   "[[1 2] [3 4]], 1 -> [3 7] | keep_dims = false"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/op/attrs.h"
#include "millrace/op/op_def.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// A small tensor of no particular type.
struct ExampleValue {
  Shape shape;
  std::vector<double> numbers;     // in row-major order, or
  std::vector<std::string> texts;  // if any element was a text

  // The value in a type: numbers as the nearest value of it ("1.5" as a string; of a quantized type
  // the number that is kept), texts only as strings. Errors: INVALID_ARGUMENT for a type that has
  // no such values.
  Result<Tensor> as(DType dtype) const;
};

struct Example {
  std::vector<ExampleValue> inputs;
  bool has_outputs = false;
  std::vector<ExampleValue> outputs;
  Attrs attrs;
};

// Errors: INVALID_ARGUMENT with the column and what was expected there.
Result<Example> parse_example(const OpDef& op, std::string_view text);

}  // namespace millrace

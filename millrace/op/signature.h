// The mini-language in which an op says what it takes and gives.
//
//   signature  =  args "->" args [ "|" attr { "," attr } ]
//   args       =  [ arg { "," arg } ]
//   arg        =  NAME ":" type            ref(T) for a reference, N*T for N of them
//   type       =  [ NUMBER_ATTR "*" ] ( TYPE | ATTR | "ref(" (TYPE | ATTR) ")" )
//   attr       =  NAME ":" kind [ ">=" INT ] [ "=" default ]
//   kind       =  "type" | "int" | "float" | "bool" | "string" | "shape" | "tensor" | "func"
//              |  "list(" kind ")"  |  "{" types {"," types} "}"  |  "{" 'text' {"," 'text'} "}"
//              |  "number" | "real" | "floating" | "list({" types … "})"
//   types      =  TYPE | "number" | "real" | "floating"
//   default    =  literal: float, 3, 0.5, true, 'text', [2,?], ? (unknown shape), {} (empty list),
//                 {float, int32}, bytes[255,0] (a tensor of uint8)
//
// "number" stands for every type with arithmetic (bfloat16, half, float, double, int8..int64,
// uint8..uint64, complex64, complex128), "real" for those without the complex ones, "floating" for
// bfloat16, half, float, double. An arg whose type is the name of a "list(type)" attribute is a
// list of that many arguments.
//
//   "x: T -> y: T | T: floating"
//   "values: N*T, axis: int32 -> output: T | N: int >= 2, T: type"
//   "ref: ref(T), value: T -> output_ref: ref(T) | T: type, use_locking: bool = false"
#pragma once

#include <string_view>

#include "millrace/base/result.h"
#include "millrace/op/op_def.h"

namespace millrace {

// Fills inputs, outputs and attrs of `op` from its signature.
// Errors: INVALID_ARGUMENT with the column and what was expected there.
Status parse_signature(OpDef& op);

}  // namespace millrace

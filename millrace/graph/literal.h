// Literals of the graph's text form: attribute values and tensors, read and written exactly.
//
//   attribute  3   1.5   true   "text"   float   [2,?]   ?   {1, 2}   tensor(int64 [1,2])
//              $name (a function's attribute)   fn   fn(attr=3)   nothing
//   tensor     3   [1.5, nan]   "a"   int64 [1,2,3]   float [] as [0,3]   qint8 hex "00ff" as [2]
//
// A tensor without a type is int32, float, bool or string, by the look of its elements. Brackets
// give the shape; `as` gives another one with as many elements. Complex elements are (re, im).
// Types that have no numbers to write are hex bytes; resources and variants can't be written.
#pragma once

#include <string>
#include <string_view>

#include "millrace/graph/cursor.h"
#include "millrace/tensor/attr_value.h"

namespace millrace {

// `kind` is the op's word for what it expects ("float", "list(int)"), or empty: it decides what "3"
// and "{}" mean.
Result<AttrValue> parse_attr(Cursor& cursor, std::string_view kind);
Result<Tensor> parse_tensor(Cursor& cursor);

std::string print_attr(const AttrValue& value);
std::string print_tensor(const Tensor& tensor);

}  // namespace millrace

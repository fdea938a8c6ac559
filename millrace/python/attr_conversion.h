// Attributes of nodes from plain Python values, and back.
//
//   kind        from Python                                  to Python, always as (kind, value)
//   string      bytes, or str as UTF-8                       bytes
//   int float   int, float                                   int, float
//   bool        bool                                         bool
//   type        the number of a DataType                     the number
//   shape       None, or a sequence of ints and None         None, or a tuple with None for unknown
//   tensor      a Tensor of this module                      a Tensor
//   func        (name, {attribute: value}), or a name        (name, {attribute: (kind, value)})
//   list(…)     a sequence                                   a list
//
// A node that is passed on, and may have attributes that its op does not know, keeps them as opaque
// values instead: AttrValue of this module, whose kind is exact and whose `plain()` is the above.
//
// All functions need the GIL.
#pragma once

#include <string_view>

#include <pybind11/pybind11.h>

#include "millrace/base/result.h"
#include "millrace/op/attrs.h"
#include "millrace/op/op_def.h"

namespace millrace::python {

// `kind` in TensorFlow's words, "list(type)" for example.
// Errors: INVALID_ARGUMENT that names the kind and shows the value.
Result<AttrValue> attr_from_python(std::string_view kind, pybind11::handle value);
pybind11::object attr_to_python(const AttrValue& value);

// The attributes of a node of `op`: kinds come from the op, and for attributes that it does not
// know (such as "_class") from the values. None as a value leaves the attribute out; an AttrValue
// is taken as it is.
Result<Attrs> attrs_from_python(const OpDef& op, const pybind11::dict& values);

// None, or a tuple in which None stands for an unknown dimension.
pybind11::object shape_to_python(const PartialShape& shape);
// From None or a sequence of ints, None and -1.
Result<PartialShape> shape_from_python(pybind11::handle value);

}  // namespace millrace::python

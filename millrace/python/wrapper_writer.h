// Python source for op wrappers: one function per op, written from what the registry knows.
//
//   def assign_add(ref, value, use_locking=False, name=None):
//       """Adds value to the variable ... """
//       return _apply("AssignAdd", (ref, value), {"use_locking": use_locking}, name)
//
// Pure: OpDefs in, text out. The build runs it once and puts the modules into the package, in
// millrace._gen.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "millrace/op/op_def.h"
#include "millrace/op/registry.h"

namespace millrace::python {

// "MatMul" -> "mat_mul", "FIFOQueueV2" -> "fifo_queue_v2", "Conv2D" -> "conv2d", as TensorFlow
// does; a word that Python keeps for itself gets a "_" at its end.
std::string function_name(std::string_view op_name);

// A value as Python source: 3, 0.5, True, "text", _types.float32, [2, None], None.
std::string python_literal(const AttrValue& value);

// The wrapper of one op. `op` must have been parsed (OpRegistry::add).
std::string wrapper_source(const OpDef& op);

// A module of the ops in a registry: wrappers in order of op names, without ops whose name starts
// with "_"; BY_OP, a dictionary from op name to function; and the names that TensorFlow has for
// some ops beside their own, such as floordiv for FloorDiv.
std::string wrapper_module(const OpRegistry& ops);

// The ops of one room, and the name of their module.
struct WrapperRoom {
  std::string_view module;
  const OpRegistry* ops;
};

// The module that tells which module has what, so that none is loaded before one of its wrappers is
// used: FUNCTIONS, by the names of functions, and OPS, by those of ops.
std::string wrapper_index(std::span<const WrapperRoom> rooms);

}  // namespace millrace::python

// The text form of a graph, for tests and for people.
//
//   # Comments reach to the end of the line; white space and line ends mean the same.
//   versions producer=2313 min_consumer=12
//   x = Placeholder(dtype=float, shape=[2,?])
//   w = VariableV2(dtype=float, shape=[2,2]) @ /job:ps/task:0
//   c = Const(3)                          # dtype and value from a tensor literal, see literal.h
//   y = MatMul(x, w:0, transpose_a=true) ^init ^c -> /job:ps/replica:0/task:0/device:CPU:0
//
// Functions come before the nodes that call them; their inputs and returns name outputs by
// argument, as in a FunctionDef (wire/function_def.h), and "^" after the returns stands before
// control outputs:
//
//   function twice "x: T -> y: T | T: type" {
//     sum = Add(x, x, T=$T)
//     return y = sum:z:0 ^sum
//   }
//   z = twice(x)
//
// A statement is a name, an op, in parentheses its data inputs and then its attributes, `^` before
// each control input, `@` before the requested device, `->` before the device that it was placed
// on. Inputs may be defined further down. Attributes that the inputs decide may be left out.
//
// What is printed is read back as the same graph, with the same ids; so it shows an attribute
// unless it is left out of the node or decided by inputs printed above.
#pragma once

#include <string>
#include <string_view>

#include "millrace/graph/graph.h"

namespace millrace {

// Errors: INVALID_ARGUMENT "line:column: …" for text that makes no sense and for nodes that the
// graph refuses; NOT_FOUND in the same form for an input that is defined nowhere.
Result<Graph> parse_graph(std::string_view text, const OpRegistry& ops);

struct PrintOptions {
  enum class Defaults : uint8_t { shown, hidden };  // attributes that have the op's default
  enum class Devices : uint8_t { shown, placed, hidden };
  Defaults defaults = Defaults::shown;
  Devices devices = Devices::shown;
};

std::string to_text(const Graph& graph, PrintOptions options = {});
// One statement, without a line end.
std::string to_text(const Graph& graph, const Node& node, PrintOptions options = {});

}  // namespace millrace

// FunctionDef as a plain value: a piece of graph with arguments, which nodes call by its name.
//
// Like GraphDef (graph_def.h) it is what the sender wrote, checked against nothing. Maps of the
// message are kept in order of their keys, so that equal functions are equal values and have equal
// bytes. Left out is what says nothing about running it: descriptions and handle data.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/wire/node_def.h"

namespace millrace::wire {

// An argument of a signature: fields as in op/op_def.h.
struct ArgDef {
  std::string name;
  DType dtype = DType::invalid;
  std::string type_attr, number_attr, type_list_attr;
  bool is_ref = false;
};

// An attribute of a signature. Its kind in TensorFlow's words: "type", "list(int)" …
struct AttrDef {
  std::string name, kind;
  std::optional<AttrValue> default_value;
  std::optional<int64_t> minimum;
};

struct FunctionDef {
  using AttrList = std::vector<std::pair<std::string, AttrValue>>;

  // The signature: what the function is to its callers.
  std::string name;
  std::vector<ArgDef> inputs, outputs;
  std::vector<AttrDef> signature_attrs;
  std::vector<std::string> control_outputs;
  bool is_stateful = false;

  // The body. An input is "x", an argument of the function; "x:1", the second tensor of an argument
  // that is a list; "node:out:0", by the name of the node's output argument; "^node". Attributes
  // may be placeholders, which stand for attributes of the function.
  std::vector<NodeDef> nodes;
  std::map<std::string, std::string> returns;          // name of an output -> "x" or "node:out:0"
  std::map<std::string, std::string> control_returns;  // name of a control output -> node
  AttrList attrs;                                      // of the definition: "_noinline" …
  std::map<uint32_t, AttrList> arg_attrs;              // by argument: hints
};

// True if they are equal to the last bit: NaN equals NaN here.
bool same_function(const FunctionDef& a, const FunctionDef& b);

}  // namespace millrace::wire

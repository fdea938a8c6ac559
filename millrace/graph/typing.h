// The types of a node's inputs and outputs, from its op and its attributes; and the attributes that
// its inputs decide. Part of Graph; passes read Node::input_types and ::output_types instead.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "millrace/graph/graph.h"

namespace millrace {

// Fills in the type, list and count attributes that `attrs` leaves out and `inputs` decides.
// `inputs` has the type of each data input in slot order; nullopt for an open one.
void infer_attrs(const OpDef& op, std::span<const std::optional<ArgType>> inputs, Attrs& attrs);

// As resolve_args of op/op_def.h, but without a vector for the common ops that have no lists.
Status resolve_types(const OpDef& op, const std::vector<ArgDef>& args, const Attrs& attrs,
                     TypeList* types);

// True if a value of type `have` may stand where `want` is declared: a reference may be read as a
// value, but not the other way round.
inline bool fits(ArgType have, ArgType want) {
  return have.dtype == want.dtype && (have.is_ref || !want.is_ref);
}

// "float", "float_ref": as TensorFlow writes it.
std::string type_name(ArgType type);
// "(float, int32)", cut after a few.
std::string type_list_name(std::span<const ArgType> types);

}  // namespace millrace

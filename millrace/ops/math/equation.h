// The equation of an Einsum, "ij,jk->ik": a letter for each axis, the same ones being walked
// together, those that the output lacks being summed. "..." stands for any axes in front of or
// between them, which broadcast.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

struct Equation {
  std::vector<std::string> inputs;  // with "..." as a single '.'
  std::string output;

  // Errors: INVALID_ARGUMENT for what is no equation of `num_inputs` operands.
  static Result<Equation> parse(std::string_view text, int num_inputs);
  // As it is written.
  static std::string written(std::string_view letters);
};

}  // namespace millrace

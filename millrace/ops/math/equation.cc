#include "millrace/ops/math/equation.h"

#include <algorithm>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

Result<std::string> parse_letters(std::string_view text, std::string_view equation) {
  std::string letters;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      if (text.substr(i, 3) != "..." || letters.find('.') != std::string::npos)
        return invalid("Periods found outside of ellipsis in equation '", equation, "'");
      letters.push_back('.');
      i += 2;
      continue;
    }
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter)
      return invalid("Invalid character '", std::string(1, c), "' in equation '", equation, "'");
    letters.push_back(c);
  }
  return letters;
}

}  // namespace

Result<Equation> Equation::parse(std::string_view text, int num_inputs) {
  Equation equation;
  const size_t arrow = text.find("->");
  if (arrow == std::string_view::npos || text.find("->", arrow + 2) != std::string_view::npos)
    return invalid("Expecting exactly one '->' in einsum equation: ", text);
  std::string_view left = text.substr(0, arrow);
  for (;;) {
    const size_t comma = left.find(',');
    MR_ASSIGN(std::string letters, parse_letters(left.substr(0, comma), text));
    equation.inputs.push_back(std::move(letters));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  MR_ASSIGN(equation.output, parse_letters(text.substr(arrow + 2), text));
  if (static_cast<int>(equation.inputs.size()) != num_inputs) {
    return invalid("Expected ", equation.inputs.size(), " inputs for equation ", text,
                   " but got: ", num_inputs);
  }
  if (num_inputs > 2) {
    return invalid("Expecting 1 or 2 input operands in equation '", text,
                   "'; products of more are made of several nodes");
  }
  for (const char letter : equation.output) {
    const bool is_known =
        letter == '.' || std::ranges::any_of(equation.inputs, [letter](const std::string& input) {
          return input.find(letter) != std::string::npos;
        });
    if (!is_known)
      return invalid("Einsum equation ", text, ": the output's ", std::string(1, letter),
                     " is in no input");
  }
  return equation;
}

std::string Equation::written(std::string_view letters) {
  std::string text;
  for (const char letter : letters) {
    if (letter == '.') {
      text += "...";
    } else {
      text += letter;
    }
  }
  return text;
}

}  // namespace millrace

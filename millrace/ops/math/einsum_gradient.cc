// Part of gradients.h: of Einsum.
#include <algorithm>

#include "millrace/ops/loops/broadcast_gradient.h"
#include "millrace/ops/math/equation.h"
#include "millrace/ops/math/gradients.h"

namespace millrace::grad {
namespace {

bool contains(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

Endpoint add_einsum(GradContext& g, const std::vector<Endpoint>& inputs,
                    const std::string& equation) {
  return g.add("Einsum", inputs,
               {{"equation", equation}, {"N", static_cast<int64_t>(inputs.size())}});
}

// The letters of an operand that come from elsewhere, each once, "..." in front.
struct Reachable {
  std::string letters, missing;
};

Reachable reachable(std::string_view own, std::string_view output, std::string_view other) {
  Reachable sorted;
  if (contains(own, '.')) sorted.letters = ".";
  for (const char letter : own) {
    if (letter == '.' || contains(sorted.letters, letter) || contains(sorted.missing, letter))
      continue;
    const bool is_there = contains(output, letter) || contains(other, letter);
    (is_there ? sorted.letters : sorted.missing) += letter;
  }
  return sorted;
}

// The shape of an input for which axes "..." broadcast.
Endpoint leading_summed(GradContext& g, Endpoint gradient, Endpoint like, int trailing) {
  return BroadcastGradient(g, like, gradient, trailing).to_a(gradient);
}

// What arrives, times the other operand, for the letters of this one. What this one sums away alone
// is spread again; what it has twice is its diagonal.
Status by_operand(GradContext& g, const Equation& equation, int slot) {
  const std::string& own = equation.inputs[static_cast<size_t>(slot)];
  const bool is_pair = equation.inputs.size() == 2;
  const std::string other = is_pair ? equation.inputs[static_cast<size_t>(1 - slot)] : "";
  const Reachable parts = reachable(own, equation.output, other);
  const auto written = [](std::string_view letters) { return Equation::written(letters); };
  std::vector<Endpoint> inputs = {g.grad()};
  std::string left = written(equation.output);
  if (is_pair) {
    inputs.push_back(conjugate(g, g.input(1 - slot)));
    left += "," + written(other);
  }
  // Axes "..." that this one lacks came of the other; an Einsum does not sum them.
  const bool is_spread = contains(equation.output, '.') && !contains(own, '.');
  Endpoint made =
      add_einsum(g, inputs, left + "->" + written((is_spread ? "." : "") + parts.letters));
  // In the input's own letters, those once that it has twice, "..." in front.
  const Endpoint input = g.input(slot);
  std::string all = parts.letters + parts.missing;
  const bool is_plain = all == own;
  const Endpoint like =
      is_plain ? input : add_einsum(g, {input}, written(own) + "->" + written(all));
  const int letters = static_cast<int>(all.size()) - (contains(all, '.') ? 1 : 0);
  if (!parts.missing.empty()) {
    const Endpoint ones = g.vector(std::vector<int64_t>(parts.missing.size(), 1));
    const Endpoint shape = g.add(
        "ConcatV2", {g.add("Shape", {made}), ones, g.scalar(DType::i32, 0)}, {{"N", int64_t{2}}});
    const Endpoint column = g.add("Reshape", {made, shape});
    made = g.add("AddV2", {column, g.add("ZerosLike", {like})});
  }
  if (is_spread || contains(all, '.')) made = leading_summed(g, made, like, letters);
  if (!is_plain) made = add_einsum(g, {made}, written(all) + "->" + written(own));
  g.set_input_grad(slot, made);
  return {};
}

}  // namespace

Status einsum(GradContext& g) {
  MR_ASSIGN(const std::string text, g.attrs().string("equation"));
  MR_ASSIGN(const Equation equation, Equation::parse(text, g.num_inputs()));
  const bool loses_ellipsis = !contains(equation.output, '.') &&
                              std::ranges::any_of(equation.inputs, [](const auto& letters) {
                                return contains(letters, '.');
                              });
  if (loses_ellipsis)
    return unimplemented("the gradient of an einsum whose output lacks ...: '", text, "'");
  for (int slot = 0; slot < g.num_inputs(); ++slot) {
    if (g.is_needed(slot)) MR_TRY(by_operand(g, equation, slot));
  }
  return {};
}

}  // namespace millrace::grad

// Gradients in a program of C++, in the words of its scopes:
//
//   Output loss = ops::l2_loss(root, ops::mat_mul(root, x, w));
//   std::vector<ScopeGradient> by = gradients(root, {loss}, {w});
//   ops::apply_gradient_descent(root, w, 0.1f, by[0].values);
//
// The same as add_gradients (gradients.h) with a Scope for the place. As with all that a Scope
// makes, an error is kept in the builder, and what depends on it is left out. One thread builds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/api/scope.h"
#include "millrace/autodiff/gradients.h"

namespace millrace {

// The gradient of one x: nothing, a tensor, or some rows of one (see IndexedSlices).
struct ScopeGradient {
  Output values = {};       // all of it, or the rows
  Output indices = {};      // which rows they are; without a value if `values` is all
  Output dense_shape = {};  // likewise

  bool has_value() const { return values.has_value(); }
  bool is_slices() const { return indices.has_value(); }
};

struct ScopeGradientOptions {
  std::vector<Output> grad_ys = {};  // what arrives at each y; ones where there is no value
  std::vector<Output> stop_gradients = {};
  Aggregation aggregation = Aggregation::add_n;
  bool colocate_with_ops = false;
  bool gate_gradients = false;
  bool zeros_if_unconnected = false;
};

// The gradients of the sum of `ys` by each x, in order, in a scope "gradients" of `scope`. After an
// error (see add_gradients; an output of another graph, INVALID_ARGUMENT), gradients without
// values.
std::vector<ScopeGradient> gradients(const Scope& scope, const std::vector<Output>& ys,
                                     const std::vector<Output>& xs,
                                     const ScopeGradientOptions& options = {});

}  // namespace millrace

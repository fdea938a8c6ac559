// The gradient of broadcasting: what arrives at a result of the broadcast shape is summed along the
// axes that each operand was repeated along.
#pragma once

#include "millrace/op/gradient.h"

namespace millrace {

class BroadcastGradient {
 public:
  // Of two operands whose axes broadcast, but for the last `trailing` ones, which are left alone.
  // Known shapes cost no node; unknown ones are asked for when the step runs.
  BroadcastGradient(GradContext& g, Endpoint a, Endpoint b, int trailing = 0);

  // A gradient of the broadcast shape, for a or for b.
  Endpoint to_a(Endpoint gradient) { return reduced(gradient, 0); }
  Endpoint to_b(Endpoint gradient) { return reduced(gradient, 1); }

 private:
  Endpoint reduced(Endpoint gradient, int operand);
  Endpoint reduced_as_known(Endpoint gradient, int operand);
  Endpoint leading_dims(Endpoint shape);

  GradContext& g_;
  const Endpoint operands_[2];
  const int trailing_;
  bool is_known_ = false;
  Endpoint shapes_[2];
  Endpoint axes_ = {};  // BroadcastGradientArgs, once it is needed
};

}  // namespace millrace

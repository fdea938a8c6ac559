// Passing an input on as an output, value or reference: what identity and control flow kernels do.
#pragma once

#include "millrace/op/kernel.h"

namespace millrace {

inline void forward(KernelContext& context, int input, int output) {
  if (context.input_is_ref(input)) {
    context.set_output_ref(output, context.input_ref(input));
  } else {
    context.set_output(output, context.take_input(input));
  }
}

inline Status forward_first(KernelContext& context) {
  forward(context, 0, 0);
  return {};
}

}  // namespace millrace

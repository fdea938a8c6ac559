// Recurrent layers: an LSTM over all steps of its input at once, with the variables of the Python
// front-end's tf.nn.dynamic_rnn over an LSTMCell, so that checkpoints fit both.
//
//   const Lstm lstm = layers::lstm(model, letters, 64);  // [batch, steps, n] to [batch, steps, 64]
#pragma once

#include <optional>
#include <string>

#include "millrace/train/variable_scope.h"

namespace millrace {

// What an LSTM remembers, float [batch, units] each.
struct LstmState {
  Output memory = {};  // c
  Output output = {};  // h
};

struct Lstm {
  Output outputs = {};    // of each step: float [batch, steps, units]
  LstmState before = {};  // may be fed, to go on where another run ended
  LstmState after = {};   // of the last step; a step of training has at least one
};

namespace layers {

struct LstmOptions {
  std::optional<LstmState> initial_state = std::nullopt;  // none: zeros
  double forget_bias = 1.0;                               // what the forget gate's bias begins with
  Initializer kernel_initializer = nullptr;
  std::string name = {};  // "": rnn, rnn_1 …
};

// Variables "rnn/lstm_cell/kernel" [n + units, 4 * units], gates in the order input, new memory,
// forget, output, and "rnn/lstm_cell/bias". Errors: INVALID_ARGUMENT, with the layer's name, if x
// is not float [batch, steps, n] with n known, or units is not positive.
Lstm lstm(const VariableScope& scope, const Output& x, int64_t units,
          const LstmOptions& options = {});

}  // namespace layers
}  // namespace millrace

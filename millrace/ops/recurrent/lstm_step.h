// One step of an LSTM, forward and back, for every row of a batch.
//
//   gates = [x, h_prev] w + b       of each row: four times cell, in the order that GateOrder says
//   i  = sigmoid(gate i + cs_prev wci)          peepholes, the products with wci, wcf and wco, only
//   f  = sigmoid(gate f + cs_prev wcf + bias)   where they are asked for
//   ci = tanh(gate c)
//   cs = clip(ci i + cs_prev f)
//   o  = sigmoid(gate o + cs wco)
//   co = tanh(cs)
//   h  = co o
//
// Everything is float32; matrices are [batch, cell] but for what is said.
#pragma once

#include <array>

#include "millrace/op/kernel.h"

namespace millrace {

struct LstmSizes {
  int64_t batch = 0, input = 0, cell = 0;

  int64_t state() const { return batch * cell; }  // elements of a matrix
};

enum class GateOrder : uint8_t { icfo, ifco };

struct LstmOptions {
  float forget_bias = 0;
  float clip = 0;  // not at all unless it is over 0
  bool has_peepholes = false;
  GateOrder order = GateOrder::icfo;

  int64_t gate_c() const { return order == GateOrder::icfo ? 1 : 2; }
  int64_t gate_f() const { return order == GateOrder::icfo ? 2 : 1; }
};

struct LstmWeights {
  Tensor w;              // [input + cell, 4 cell]
  Tensor wci, wcf, wco;  // [cell]
  Tensor b;              // [4 cell]
};

// What a step makes, in the order of the ops' outputs.
struct LstmStates {
  float *i, *cs, *f, *o, *ci, *co, *h;
};
struct LstmSeen {
  const float *i, *cs, *f, *o, *ci, *co;
};

// `gates` is the product [batch, 4 cell] without b; it is written over.
void lstm_forward(const LstmSizes& sizes, const LstmOptions& options, const LstmWeights& weights,
                  Tensor& gates, const float* cs_prev, const LstmStates& made);

// What is added up of each [cell] over rows and steps.
struct PeepholeGrads {
  float *wci, *wcf, *wco;
};
// From what arrives at cs and h, what goes on to the gates ([batch, 4 cell]) and to cs_prev, which
// may be the same memory as cs_grad. Clipping is passed over, as in TensorFlow.
void lstm_backward(const LstmSizes& sizes, const LstmOptions& options, const LstmWeights& weights,
                   const LstmSeen& seen, const float* cs_prev, const float* cs_grad,
                   const float* h_grad, float* gates_grad, float* cs_prev_grad,
                   const PeepholeGrads& peepholes);

// Reads w, wci, wcf, wco and b from five inputs in a row.
// Errors: INVALID_ARGUMENT for ranks and sizes.
Result<LstmWeights> read_lstm_weights(KernelContext& context, int slot, const LstmSizes& sizes,
                                      const LstmOptions& options);
// From the attributes of a node: forget_bias and cell_clip where the op has them.
Result<LstmOptions> read_lstm_options(const KernelSpec& spec, GateOrder order);

}  // namespace millrace

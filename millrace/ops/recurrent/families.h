// The families of ops in this room: cells of recurrent nets.
//
// A family is a source file with its ops as values; register_recurrent adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_recurrent(OpRegistry& ops);

// One step: LSTMBlockCell and its gradient.
Status register_lstm_cells(OpRegistry& ops);

// All steps: BlockLSTM, BlockLSTMV2 and their gradients.
Status register_lstm_blocks(OpRegistry& ops);

// One step: GRUBlockCell and its gradient.
Status register_gru_cells(OpRegistry& ops);

}  // namespace millrace

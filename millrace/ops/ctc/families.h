// The families of ops in this room: connectionist temporal classification.
//
// A family is a source file with its ops as values; register_ctc adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_ctc(OpRegistry& ops);

// CTCLoss, CTCLossV2.
Status register_ctc_losses(OpRegistry& ops);

// CTCGreedyDecoder, CTCBeamSearchDecoder.
Status register_ctc_decoders(OpRegistry& ops);

}  // namespace millrace

// The families of ops in this room: bytes as tensors.
//
// A family is a source file with its ops as values; register_parsing adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_parsing(OpRegistry& ops);

// tf.train.Example: ParseExample and its kin.
Status register_examples(OpRegistry& ops);

// The same from JSON: DecodeJSONExample.
Status register_json_examples(OpRegistry& ops);

// tf.train.SequenceExample: ParseSingleSequenceExample.
Status register_sequences(OpRegistry& ops);

// The same of many messages: ParseSequenceExample, ParseSequenceExampleV2.
Status register_sequence_batches(OpRegistry& ops);

// Numbers, fields and tensors in bytes: DecodeRaw, DecodeCSV, ParseTensor, SerializeTensor.
Status register_records(OpRegistry& ops);

// Bytes of another length than they stand for: DecodePaddedRaw, DecodeCompressed.
Status register_packed(OpRegistry& ops);

}  // namespace millrace

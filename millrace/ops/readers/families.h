// The families of ops in this room: readers of files.
//
// A family is a source file with its ops as values; register_readers adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_readers(OpRegistry& ops);

// TextLineReader, TFRecordReader, WholeFileReader, IdentityReader, FixedLengthRecordReader.
Status register_reader_handles(OpRegistry& ops);
// ReaderRead, ReaderReadUpTo and what else is done with a reader.
Status register_reader_accesses(OpRegistry& ops);

// RecordInput: records of files without a queue.
Status register_record_inputs(OpRegistry& ops);

}  // namespace millrace

// The families of ops in this room: what graphs do with files.
//
// A family is a source file with its ops as values; register_files adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_files(OpRegistry& ops);

// SaveV2, RestoreV2, MergeV2Checkpoints.
Status register_checkpoints(OpRegistry& ops);
// Save, SaveSlices, Restore, RestoreSlice: checkpoints of the format before 2017.
Status register_first_format(OpRegistry& ops);
// Names of shards: texts only.
Status register_file_names(OpRegistry& ops);
// GenerateVocabRemapping, LoadAndRemapMatrix: what warm starts read.
Status register_remaps(OpRegistry& ops);
// ReadFile, WriteFile, MatchingFiles.
Status register_whole_files(OpRegistry& ops);

}  // namespace millrace

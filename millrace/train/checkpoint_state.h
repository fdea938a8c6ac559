// Which checkpoints a folder has: its file `checkpoint`, in TensorFlow's protocol text:
//
//   model_checkpoint_path: "model.ckpt-200"
//   all_model_checkpoint_paths: "model.ckpt-100"
//   all_model_checkpoint_paths: "model.ckpt-200"
//
// Paths are absolute or relative to the folder; ours are relative, so that it may be moved. The
// file is replaced as a whole.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/files.h"

namespace millrace {

// Writes the file into the folder of `paths`, the newest of which is the last; there is one at
// least.
Status write_checkpoint_state(Files& files, const std::vector<std::string>& paths);
// The checkpoints that the file of a folder lists, the newest last. Errors: those of reading it.
Result<std::vector<std::string>> known_checkpoints(Files& files, const std::string& folder);
// Removes the files of a checkpoint; those that are gone already are no error.
Status remove_checkpoint(Files& files, const std::string& path);

}  // namespace millrace

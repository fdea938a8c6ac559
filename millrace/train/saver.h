// Saver: checkpoints of a model's variables in TensorFlow's format, by the names that all languages
// share: what a program in Python has saved, this one restores, and the other way round.
//
//   Saver saver(model);                                   // before the session gets the graph
//   MR_ASSIGN(path, saver.save(*session, files, "/tmp/model/model.ckpt", 100));
//   MR_TRY(saver.restore(*session, path));
//
// The nodes are those that tf.train.Saver makes ("save/Const", "save/SaveV2", "save/restore_all").
// A save is one file, written by the task that runs it; variables on other tasks come to it. The
// folder's file `checkpoint` says which are there, and the oldest beyond max_to_keep are removed.
// Not for several threads at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/session/session.h"
#include "millrace/train/variable_scope.h"

namespace millrace {

struct SaverOptions {
  std::vector<Variable> variables = {};  // none: all of the model so far
  int max_to_keep = 5;                   // 0: all
};

class Saver {
 public:
  explicit Saver(const VariableScope& scope, SaverOptions options = {});

  // Saves under `prefix`, or "<prefix>-<step>"; returns that. `files` are those of the task that
  // runs the save. Errors: those of the step and of files.
  Result<std::string> save(Session& session, Files& files, const std::string& prefix,
                           std::optional<int64_t> step = std::nullopt);
  // Gives the variables the values of a checkpoint. Errors: those of the step: NOT_FOUND for a name
  // that is not in it, INVALID_ARGUMENT for another type or shape.
  Status restore(Session& session, const std::string& path);
  // Counts the checkpoints that a folder lists among its own, so that a program that is started
  // again keeps no more than max_to_keep. Errors: those of reading; none for a folder without any.
  Status adopt(Files& files, const std::string& folder);

 private:
  Status note(Files& files, const std::string& path);

  std::string path_name_, saved_name_, restored_name_;
  int max_to_keep_;
  std::deque<std::string> kept_;  // the newest last
};

// The prefix of the newest checkpoint that the file `checkpoint` of a folder names. Errors:
// NOT_FOUND if there is no such file; INVALID_ARGUMENT if it names none.
Result<std::string> latest_checkpoint(Files& files, const std::string& folder);

}  // namespace millrace

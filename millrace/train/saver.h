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
// With a `background`, a save only takes the values, and they are written while steps go on
// (docs/design/checkpoints.md, 7). Not for several threads at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/base/runner.h"
#include "millrace/session/session.h"
#include "millrace/train/background_save.h"
#include "millrace/train/variable_scope.h"

namespace millrace {

struct SaverOptions {
  std::vector<Variable> variables = {};  // none: all of the model so far
  int max_to_keep = 5;                   // 0: all
  // Where to write aside: a pool of its own for example, which outlives the Saver. Not a host's
  // `blocking`: what writes waits for a step, which needs that for its files. Each variable that is
  // written meanwhile is copied first, so there may be two of each. Null: save() writes.
  Runner* background = nullptr;
};

class Saver {
 public:
  explicit Saver(const VariableScope& scope, SaverOptions options = {});

  // Saves under `prefix`, or "<prefix>-<step>"; returns that. `files` are those of the task that
  // runs the save. Errors: those of the step and of files.
  // With a background it first waits for the save before, whose error it returns; `files` and the
  // session have to stay until wait(). A session that is gone is an error of that save.
  Result<std::string> save(Session& session, Files& files, const std::string& prefix,
                           std::optional<int64_t> step = std::nullopt);
  // Whether a save goes on in the background.
  bool is_saving() const { return under_way_.is_under_way(); }
  // Returns when no save goes on; its error stays for wait().
  void settle() { under_way_.settle(); }
  // The same, and returns the error of the last save in the background, once.
  Status wait() { return under_way_.wait(); }
  // Gives the variables the values of a checkpoint. Errors: those of the step: NOT_FOUND for a name
  // that is not in it, INVALID_ARGUMENT for another type or shape.
  Status restore(Session& session, const std::string& path);
  // Counts the checkpoints that a folder lists among its own, so that a program that is started
  // again keeps no more than max_to_keep. Errors: those of reading; none for a folder without any.
  Status adopt(Files& files, const std::string& folder);

 private:
  Status write_aside(Session& session, Files& files, const std::string& path);
  Status note(Files& files, const std::string& path);

  std::string path_name_, saved_name_, restored_name_;
  std::string taken_name_, held_saved_name_;  // of a save in two steps
  const int max_to_keep_;
  Runner* const background_;
  std::deque<std::string> kept_;  // the newest last; of who writes while a save goes on
  BackgroundSave under_way_;      // last: what it calls uses the others
};

// The prefix of the newest checkpoint that the file `checkpoint` of a folder names. Errors:
// NOT_FOUND if there is no such file; INVALID_ARGUMENT if it names none.
Result<std::string> latest_checkpoint(Files& files, const std::string& folder);

}  // namespace millrace

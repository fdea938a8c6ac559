// Beside a task, on its machine: has what travels with the job, in a folder of the task's own, and
// brings back what comes back. Blocks; from a process with one thread: it forks.
//
//   fetch() ──► the program runs in folder() ──► bring_back() ──► destroyed: the folder is gone
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/cluster/cluster_spec.h"
#include "millrace/launch/job.h"
#include "millrace/launch/shipping/file_client.h"
#include "millrace/launch/shipping/manifest.h"
#include "millrace/launch/shipping/task_folder.h"

namespace millrace {

// How `millrace join` is told of it: "--files HOST:PORT/DIGEST", of the launcher and its manifest;
// or
// "--files /FOLDER/DIGEST", where all has been brought already.
inline constexpr const char* kFilesFlag = "--files";

struct BaggageRequest {
  std::string files = {};  // "n1:40123/2cf2…"
  std::string token = {};
  TaskName task = {};
  std::string scratch = {};  // a folder of this machine, for own_scratch()
  // Where the task works, if that is of its own already and somebody else removes it: nothing is
  // kept on the machine then.
  std::string folder = {};
  std::string server_called = "the job's launcher";
  std::function<void(const std::string& text)> progress = {};
  // Somebody else has filled the folder that the task works in, which is this one: only outputs
  // are brought back, of what was not there before. Empty: a new one is filled.
  std::string in_place = {};
  int leash = -1;  // a descriptor whose end is the word to end; -1: none
  Clock::Duration patience = std::chrono::seconds(60);  // with a silent launcher
  Clock::Duration to_connect = std::chrono::minutes(10);
};

class Baggage {
 public:
  // Errors, with the task, this machine and the file: INVALID_ARGUMENT for a request or a manifest
  // that makes no sense; those of FileClient and BlobCache; UNAVAILABLE if there is no room, or an
  // archive can't be unpacked.
  static Result<Baggage> fetch(const BaggageRequest& request, const Clock& clock);

  const std::string& folder() const { return folder_ ? folder_->path() : request_.in_place; }
  // What stands before the task's PATH: "<folder>/programs:<folder>".
  std::string search() const;
  // Brings the role's outputs to the launcher, whole or not at all. Errors: with the task, this
  // machine and the file.
  Status bring_back() const;

 private:
  using Names = std::set<std::string, std::less<>>;

  Baggage(BaggageRequest request, Manifest manifest, std::optional<TaskFolder> folder, Names there,
          const Clock& clock)
      : request_(std::move(request)),
        manifest_(std::move(manifest)),
        folder_(std::move(folder)),
        there_(std::move(there)),
        clock_(clock) {}

  const BaggageRequest request_;
  const Manifest manifest_;
  std::optional<TaskFolder> folder_;  // not set: in place
  const Names there_;                 // what lies in it from the start
  const Clock& clock_;
};

}  // namespace millrace

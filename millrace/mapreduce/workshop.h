// Workshop: the folder in which a job does its work, beside the one that it makes
// (OUTPUT.unfinished-TOKEN). Whatever an attempt writes has a name of its own; the reports that
// count say which files do. One thread; waits for the disk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/mapreduce/place.h"

namespace millrace::mapreduce {

class Workshop {
 public:
  // `folder` is that of the output; `token` tells this job from all others.
  Workshop(Files& files, std::string folder, std::string_view token);
  // Removes what is left of the work.
  ~Workshop() { remove(); }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  // Makes the folder. Errors: ALREADY_EXISTS if the output is there; those of the disk.
  Status make();
  const std::string& path() const { return path_; }
  // Folders that jobs for the same output have left, or have in use.
  std::vector<std::string> others() const;
  // Writes a file of the job; its path. Errors: those of the disk.
  Result<std::string> write(std::string_view name, std::string_view bytes);
  // Makes the output ready to appear; the paths that its files will have.
  //   parts     per partition, the path of its file
  //   suffix    of their names
  //   counters  for _counters.json
  //   aside     files with bad records, which become _rejected.jsonl
  // Errors: those of the disk.
  Result<std::vector<std::string>> gather(const std::vector<std::string>& parts,
                                          std::string_view suffix, const Counters& counters,
                                          const std::vector<std::string>& aside);
  // Results are put into a queue from now on: whoever finds the folder must not do so again.
  // Errors: those of the disk.
  Status note_publishing();
  // Errors: FAILED_PRECONDITION if a job for the same output has died, or is at work, putting
  // results into a queue.
  Status check_nothing_was_put() const;
  // Makes the output appear, all at once. Errors: those of the disk.
  Status publish();
  // A straggler is not waited for: it does not find the folder.
  void remove();

 private:
  std::string not_made() const;
  Status gather_aside(const std::string& to, const std::vector<std::string>& aside);

  Files& files_;
  const std::string folder_, path_;
  bool is_made_ = false;
};

// Removes a folder with all that is in it; what can't be removed stays.
void remove_folder(Files& files, const std::string& path);

// A name that nobody else has: sixteen letters of `number`.
std::string token_of(uint64_t number);

}  // namespace millrace::mapreduce

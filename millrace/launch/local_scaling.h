// How a launcher of this machine hears that its job is to have other numbers of tasks, and tells
// the tasks who is absent: the files `wishes` and `roster` of the job's folder (scaling.h,
// cluster/roster.h). Part of local_run, whose poll loop calls it. Single-threaded.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/cluster/roster.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/growing_file.h"
#include "millrace/launch/scaling.h"

namespace millrace {

class LocalScaling {
 public:
  // Makes the file of wishes, empty. Errors: UNAVAILABLE with what the system says.
  static Result<LocalScaling> create(const std::string& folder);

  // Readable when there may be wishes. Where the system tells no changes of files there is none,
  // and they are found whenever something else happens.
  void add_descriptors(std::vector<pollfd>& events) const;
  // The wishes that have come since; lines that are none are skipped.
  std::vector<ScaleWish> take();

  // Writes the roster if it is another one than last. Errors: UNAVAILABLE with what the system
  // says.
  Status keep_roster(AbsentTasks absent);

 private:
  LocalScaling(const std::string& folder, Descriptor changes);

  const std::string roster_path_;
  Descriptor changes_;
  GrowingFile wishes_;
  std::optional<AbsentTasks> roster_;  // as it was written last
};

// Appends the wish to those of a launcher, who answers in its journal. Errors: FAILED_PRECONDITION
// if the launcher heeds none; UNAVAILABLE with what the system says.
Status append_wish(const std::string& folder, const ScaleWish& wish);

}  // namespace millrace

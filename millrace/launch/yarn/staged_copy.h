// Part of staged_launches.h: the copy of a launcher's folder that who submitted a job has.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/job.h"
#include "millrace/launch/yarn/staged_job.h"

namespace millrace {

// Held while the copy is continued: others may look at the job, too.
class CopyLock {
 public:
  explicit CopyLock(const std::string& path);

 private:
  Descriptor file_;
};

std::string staged_in(const std::string& folder);
// Errors: UNAVAILABLE.
Result<std::string> text_in(const std::string& path);
Result<StagedJob> read_staged(const std::string& folder);

// The library that a launcher is asked by, loaded now if it was not: a job's programs are to have
// it, too. Empty where there is none.
std::vector<std::string> loaded_curl();

// In the job's folder here: its outputs have been brought, or all of it was taken. What there is to
// say of that for people, once.
inline constexpr const char* kBroughtFile = "outputs.brought";

// "outputs of 3 tasks are in /home/me/outputs"
std::string outputs_text(const JobSpec& job, size_t num_tasks);

}  // namespace millrace

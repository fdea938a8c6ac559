// How files that travel with a job lie in the folder of a task, whoever brings them there. Pure but
// for find_file() and is_program(), which look at this machine.
//
//   train.py         it, by its name
//   lib/env.tar.gz   env/, with what is in it
//   a program        programs/, which is before all others on the task's PATH (program_bundle.h)
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace millrace {

// The folder of the programs.
inline constexpr const char* kProgramsFolder = "programs";

struct PlacedFile {
  std::string name = {};  // in the task's folder
  bool is_archive = false;
  friend bool operator==(const PlacedFile&, const PlacedFile&) = default;
};
// Of a path's last part: "env" for "lib/env.tar.gz".
PlacedFile placed_as(std::string_view path);

// One part of a path, and no way to anywhere else: no "/", "..", control character, at most 255
// bytes.
bool is_plain_name(std::string_view name);

// INVALID_ARGUMENT for a job whose files would lie in each other's places, or in `ours` besides;
// that says where its tasks work, or keeps their state in a folder that goes with them.
Status check_placed(const JobSpec& job, std::string_view ours = kProgramsFolder);

// True for a program that the system runs itself, as no script is.
bool is_program(const std::string& path);
// The file, or what is called so on the PATH `search` if there is none. Errors: NOT_FOUND that
// names both; INVALID_ARGUMENT for a folder.
Result<std::string> find_file(const std::string& name, const std::string& directory,
                              const std::string& search);

}  // namespace millrace

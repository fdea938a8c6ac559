// A job whose machines share no folder: what goes along with it through a folder of HDFS, and where
// each of it is to be then. Pure.
//
//   <staging>/.millrace/<application>/programs.tar   `millrace` and the job's programs
//                                    /job.yaml       for the launcher
//                                    /racks          likewise
//                                    /staged         likewise: of a StagedJob the text
//                                    /secrets        likewise, of a job that has some
//                                    /files/train.py what tasks find in their folders
//                                    /kept/...       the launcher's folder, when the job has ended
//                                    /kept/packs.list, /kept/packs/map_1
//                                                    and what its tasks have made
//                                                    (packed_outputs.h)
//
// In a container: programs/, which is before all others on the PATH, and the job's files; in the
// first one the folder job/, which is the launcher's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"
#include "millrace/launch/yarn/messages.h"

namespace millrace {

struct StagedJob {
  std::string folder = {};  // <staging>/.millrace/<application>
  // Whoever asks the launcher shows it (folder_calls.h).
  std::string token = {};
  std::vector<LocalResource> resources = {};  // of each task's container
};

// A line of JSON. Errors: INVALID_ARGUMENT.
std::string to_text(const StagedJob& job);
Result<StagedJob> parse_staged_job(std::string_view text);

std::string staged_folder_of(const JobSpec& job, const std::string& application);

// Where one file of the job goes, by its path: "train.py", or "env" for "lib/env.tar.gz", whose
// archive is unpacked there. Size and time are not known yet.
LocalResource staged_file(const std::string& folder, const std::string& path);
// The programs, which every container gets.
LocalResource staged_programs(const std::string& folder);
// What the first container's job/ begins with.
std::vector<LocalResource> staged_for_launcher(const std::string& folder);

// INVALID_ARGUMENT for a job whose files would lie in each other's places, or in one of ours; or
// that says where its tasks work.
Status check_staged(const JobSpec& job);

// The files of the launcher's folder, in it and in kept/: "job.yaml".
inline constexpr const char* kStagedFile = "staged";
inline constexpr const char* kRacksFile = "racks";
inline constexpr const char* kSecretsFile = "secrets";
inline constexpr const char* kKeptFolder = "kept";
inline constexpr const char* kPacksList = "packs.list";
inline constexpr const char* kPacksFolder = "packs";
// What stands before a command in a container, for a shell.
inline constexpr const char* kStagedPath = "export PATH='$PWD/programs:$PWD:$PATH'";

}  // namespace millrace

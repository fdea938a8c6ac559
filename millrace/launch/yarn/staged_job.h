// A job whose machines share no folder: what goes along with it through a folder of HDFS, or from
// who submits it to its launcher and from that to the others, and where each of it is to be then.
// Pure.
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
// Without HDFS (`staging: submitter`) it is the same below http://<host>:<port>/<door>, first of
// the submitter and then of the launcher (folder_calls.h), but for what is kept; and files have
// numbers there, since no name has to be written as a part of a URL.
//
// In a container: programs/, which is before all others on the PATH, and the job's files; in the
// first one the folder job/, which is the launcher's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"
#include "millrace/launch/staging.h"
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

// Whether its files come from who submits it, and not through HDFS.
bool is_by_submitter(const JobSpec& job);

std::string staged_folder_of(const JobSpec& job, const std::string& application);

// Where one file of the job goes, by its path: "train.py", or "env" for "lib/env.tar.gz", whose
// archive is unpacked there. Size and time are not known yet.
LocalResource staged_file(const std::string& folder, const std::string& path);
// Likewise, of a job without HDFS: its number-th.
LocalResource numbered_file(const std::string& folder, const std::string& path, size_t number);
// The programs, which every container gets.
LocalResource staged_programs(const std::string& folder);
// What the first container's job/ begins with.
std::vector<LocalResource> staged_for_launcher(const std::string& folder);
// And of a job without HDFS job/sent/, of what each task's container is to have.
std::vector<LocalResource> passed_on(const std::vector<LocalResource>& resources);

// Of a job without HDFS: the secret in its URLs; and the same files, as another serves them.
std::string door_of(const StagedJob& job);
std::vector<LocalResource> served_by(const StagedJob& job, const std::string& address);

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
// Without HDFS: the names of all that the launcher leaves, a line each, the list of packs the last
// but itself; it is there when they are whole. Then: somebody has all of it, or just takes it.
inline constexpr const char* kLeftFile = "left";
inline constexpr const char* kTakenFile = "taken";
inline constexpr const char* kTakingFile = "taking";
// What the first container passes on to the others: programs.tar, files/0.tar.gz.
inline constexpr const char* kSentFolder = "sent";
// What stands before a command in a container, for a shell.
inline constexpr const char* kStagedPath = "export PATH='$PWD/programs:$PWD:$PATH'";

}  // namespace millrace

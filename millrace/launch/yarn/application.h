// The application that a job is, as YARN's ResourceManager takes it, and how its tasks are reached
// from its first container, where `millrace run --on yarn-am` supervises. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"
#include "millrace/launch/reach.h"
#include "millrace/launch/yarn/messages.h"

namespace millrace {

// What is known of an application beside its job.
struct YarnLaunch {
  std::string application = {};  // "application_1700000000000_0001"
  // Of the job (job_folder.h), which all machines see, unless the job has a staging.
  std::string folder = {};
  std::string directory = {};  // where it was submitted, and tasks work unless the job says where
  std::vector<std::string> schedulers = {};  // "rm:8030"
  // Of a job whose machines share no folder (staged_job.h): what the first container begins with.
  std::vector<LocalResource> resources = {};
  std::vector<EnvironmentEntry> environment = {};  // of the launcher and all tasks
  // By which YARN and the launcher come to the resources, where that takes a login. A secret.
  std::optional<HadoopToken> token = {};
};

// The body of a submission. The job passes check() and has a name. Errors: INVALID_ARGUMENT for
// what YARN can't give (volumes without an image), or for a folder, a directory or a value
// of the environment that YARN's shell would take apart.
Result<nlohmann::ordered_json> yarn_application(const JobSpec& job, const YarnLaunch& launch);

// The same for people, before anything of it is known; ends with a newline.
Result<std::string> describe_yarn_application(const JobSpec& job);

// What a role's tasks ask for; no two roles have the same priority. Where no folder is shared,
// there is room for what brings their output to the launcher.
ContainerWish container_wish(const JobSpec& job, const RoleSpec& role, int priority);

// Of machines, by the names that YARN gives them: "n1" -> "/rack7".
using YarnRacks = std::map<std::string, std::string>;

struct YarnLimits {
  int64_t megabytes = 0;
  int cores = 0;
  std::optional<int> gpus = {};  // not set: YARN was never told of any
};
// INVALID_ARGUMENT that names the role, or the launcher, if it asks for more than any machine has.
// Of a resource that YARN does not know it gives none, and says nothing.
Status check_fits(const JobSpec& job, const YarnLimits& most);

// What of the environment goes along from who submits to the launcher and to its tasks.
inline constexpr const char* kPassedOn[] = {"PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "LANG"};

// Carries the addresses where the application master logs in, with commas between them.
inline constexpr const char* kSchedulersVariable = "MILLRACE_YARN_SCHEDULERS";

// The file of a job's folder with the racks of machines as they were when it was submitted.
std::string racks_in(const std::string& folder);

// Of the job, what its launcher itself brings to tasks' folders and back (launch/shipping): all of
// it where a folder is shared; else YARN brings the files.
JobSpec launcher_ships(JobSpec job);

// In the first container: a task is an errand (local_errand.h) that asks `master` for a container.
// One that comes back asks for a container on the machine that it was on, which YARN gives who
// knows the machine's rack, too. The job outlives the reach.
struct YarnReach {
  std::string folder = {};    // of the job
  std::string master = {};    // the name of its socket
  std::string known_as = {};  // by which tasks find this machine
  YarnRacks racks = {};       // of machines; of others it is YARN's default
  // Where the folder is served to tasks, whose machines don't see it: "n1:40123"; empty: they do.
  std::string served_at = {};
};
Reach yarn_reach(const JobSpec& job, const YarnReach& known);

}  // namespace millrace

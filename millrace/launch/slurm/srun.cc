#include "millrace/launch/slurm/srun.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/tf_config.h"
#include "millrace/launch/plan.h"

namespace millrace {
namespace {

// Of srun's second process, which has Slurm end the step when the first was killed.
constexpr std::chrono::seconds kOwnCleanUp{5};

// "slurmstepd: ", and on machines with several of them "slurmstepd-n1: "
bool is_of_stepd(std::string_view line) {
  constexpr std::string_view kStepd = "slurmstepd";
  return line.starts_with(kStepd) && line.size() > kStepd.size() &&
         (line[kStepd.size()] == ':' || line[kStepd.size()] == '-') &&
         line.find(": ") != std::string_view::npos;
}

// TF_CONFIG of a task, once each of them has told where it is; else "".
std::string known_config(const JobSpec& job, const Journal& journal, const std::string& task) {
  std::vector<std::string> addresses(count_planned(job));
  for (const JournalEntry& entry : journal.entries) {
    const auto* came = std::get_if<TaskCame>(&entry.what);
    if (came != nullptr && came->task < addresses.size()) addresses[came->task] = came->address;
  }
  TfConfig config;
  size_t next = 0;
  for (const RoleSpec& role : job.roles) {
    for (int index = 0; index < most_of(role); ++index, ++next) {
      if (!config.cluster.add_task(role.name, index, addresses[next]).ok()) return "";
      if (str_cat(role.name, ":", index) != task) continue;
      config.task_type = role.name;
      config.task_index = index;
    }
  }
  return to_json(config, JsonLayout::one_line);
}

std::vector<std::string> srun_back_at(std::vector<std::string> first, const std::string& machine) {
  first.insert(first.begin() + 1, str_cat("--nodelist=", machine));
  return first;
}

std::string_view word_after(std::string_view line, std::string_view mark) {
  const size_t begin = line.find(mark) + mark.size();
  return line.substr(begin, line.find_first_of(" ,:", begin) - begin);
}

}  // namespace

int64_t whole_cores(const Resources& wanted) {
  return std::max<int64_t>(1, std::llround(std::ceil(wanted.cpus)));
}

bool asks_the_same(const JobSpec& job) {
  return std::ranges::all_of(job.roles, [&](const RoleSpec& role) {
    return role.resources == job.roles[0].resources && role.nodes == job.roles[0].nodes;
  });
}

Reach srun_reach(const JobSpec& job, const std::string& known_as) {
  return {.name = "slurm",
          .listen_host = "0.0.0.0",
          .known_as = known_as,
          .command_at =
              [&job](const RoleSpec& role, size_t, const std::vector<std::string>& command) {
                std::vector<std::string> words = {"srun", "--nodes=1", "--ntasks=1", "--exact",
                                                  // The lines are to be seen when they are written.
                                                  "--unbuffered",
                                                  str_cat("--job-name=", role.name)};
                if (!asks_the_same(job)) {
                  const auto group = std::ranges::find(job.roles, role.name, &RoleSpec::name);
                  words.push_back(str_cat("--het-group=", group - job.roles.begin()));
                }
                for (std::string& word : slurm_resources(role.resources))
                  words.push_back(std::move(word));
                words.insert(words.end(), command.begin(), command.end());
                return words;
              },
          .hear = hear_srun,
          .machine_variable = "SLURMD_NODENAME",
          .comes_back = true,
          .holds_places = true,
          .back_at = srun_back_at,
          // To SIGTERM srun answers by killing the step at once.
          .has_leash = true,
          .cleans_up_within = kOwnCleanUp};
}

bool hear_srun(std::string_view line, ExitFacts& facts) {
  if (!line.starts_with("srun: ") && !is_of_stepd(line)) return false;
  auto has = [&](std::string_view mark) { return line.find(mark) != std::string_view::npos; };
  // The first thing that is said is the cause of the others.
  auto take_away = [&](std::string why) {
    if (facts.taken_away.empty() && !facts.out_of_memory_kill) facts.taken_away = std::move(why);
  };
  if (has("Out Of Memory") || has("oom-kill") || has("OOM Killed") || has("xceeded memory limit") ||
      has("xceeded job memory limit")) {
    facts.out_of_memory_kill = true;
    facts.taken_away.clear();
  }
  if (has("Node failure on ") || has("DUE TO NODE FAILURE")) facts.place_is_gone = true;
  if (has("Node failure on "))
    take_away(str_cat("its machine ", word_after(line, "Node failure on "), " is lost"));
  if (has("DUE TO NODE FAILURE")) take_away("its machine is lost");
  if (has("DUE TO PREEMPTION")) take_away("preempted: Slurm gave its machine to another job");
  if (has("DUE TO TIME LIMIT")) take_away("Slurm's time limit");
  if (has(" CANCELLED AT ") && has("***")) {
    facts.by_hand = !has("DUE TO ");
    take_away("cancelled: its step was ended by scancel");
  }
  for (std::string_view mark : {"Unable to create step for job", "Unable to confirm allocation"})
    if (has(mark) && has("error: ")) facts.start_error = line.substr(line.find("error: ") + 7);
  return true;
}

std::vector<std::string> slurm_resources(const Resources& wanted) {
  std::vector<std::string> words = {str_cat("--cpus-per-task=", whole_cores(wanted))};
  if (wanted.memory > 0) {
    // Of one core: a heterogeneous step may not ask for memory per machine.
    const int64_t of_core = (wanted.memory + whole_cores(wanted) - 1) / whole_cores(wanted);
    words.push_back(str_cat("--mem-per-cpu=", (of_core + (1 << 20) - 1) >> 20, "M"));
  }
  if (wanted.gpus > 0) words.push_back(str_cat("--gpus-per-task=", wanted.gpus));
  return words;
}

std::vector<std::string> guest_step(const JobSpec& job, const std::string& number,
                                    const Journal& journal, const TaskSight& task,
                                    const std::vector<std::string>& command, Terminal terminal) {
  const std::string_view role_name = std::string_view(task.name).substr(0, task.name.find(':'));
  const auto role = std::ranges::find(job.roles, role_name, &RoleSpec::name);
  std::vector<std::string> words = {
      "srun", str_cat("--jobid=", number), "--overlap", "--nodes=1", "--ntasks=1", "--unbuffered"};
  if (!task.where.empty()) words.push_back(str_cat("--nodelist=", task.where));
  if (!asks_the_same(job)) words.push_back(str_cat("--het-group=", role - job.roles.begin()));
  if (!job.directory.empty()) words.push_back(str_cat("--chdir=", job.directory));
  if (terminal == Terminal::yes) words.push_back("--pty");
  words.push_back("env");
  if (const std::string config = known_config(job, journal, task.name); !config.empty())
    words.push_back(str_cat(kTaskVariable, "=", config));
  for (const auto& [name, value] : environment_of(job, *role))
    words.push_back(str_cat(name, "=", value));
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

}  // namespace millrace

#include "millrace/launch/reach.h"

#include <algorithm>

#include "millrace/base/str_cat.h"

namespace millrace {

namespace {

// Of what removes a task's folder, when all else was killed.
constexpr std::chrono::seconds kForFolder{5};

}  // namespace

Reach own_reach(const JobSpec& job, const std::string& program) {
  return {.name = "local",
          .is_here = true,
          .listen_host = job.host,
          .known_as = job.host,
          .command_at =
              [program](const RoleSpec&, size_t, const std::vector<std::string>& command) {
                std::vector<std::string> words = command;
                words[0] = program;
                return words;
              },
          .comes_back = true,
          .holds_places = true,
          .has_leash = true,
          .cleans_up_within = kForFolder};
}

LaunchPlan plan_elsewhere(const JobSpec& job, const Reach& reach, const std::string& supervisor,
                          const std::string& token) {
  LaunchPlan plan;
  const std::vector<std::string> deciding = deciding_roles(job);
  for (const RoleSpec& role : job.roles) {
    const bool decides = std::ranges::find(deciding, role.name) != deciding.end();
    for (int index = 0; index < most_of(role); ++index) {
      std::vector<std::string> command = {"millrace", "join",    "--at",    supervisor,
                                          "--job",    role.name, "--index", std::to_string(index)};
      if (reach.has_leash)
        command.insert(command.end(), {"--leash", "--grace", str_cat(job.grace.count(), "ms")});
      if (!reach.machine_variable.empty())
        command.insert(command.end(), {"--machine-from", reach.machine_variable});
      command.insert(command.end(), reach.join_words.begin(), reach.join_words.end());
      command.push_back("--");
      const std::vector<std::string>& own = command_of(job, role);
      command.insert(command.end(), own.begin(), own.end());
      plan.tasks.push_back(
          {.task = {role.name, 0, index},
           .name = str_cat(role.name, ":", index),
           .file_stem = str_cat(role.name, "_", index),
           .address = "",
           .argv = reach.command_at(role, plan.tasks.size(), command),
           .environment = reach.has_leash ? std::vector<EnvironmentEntry>{}
                                          : std::vector<EnvironmentEntry>{{kTokenVariable, token}},
           .input = reach.has_leash ? token + "\n" : "",
           .decides = decides});
    }
  }
  return plan;
}

}  // namespace millrace

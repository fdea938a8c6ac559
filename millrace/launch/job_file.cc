#include "millrace/launch/job_file.h"

#include <algorithm>
#include <span>

#include "millrace/cluster/cluster_spec.h"
#include "millrace/launch/job_file_key.h"
#include "millrace/launch/nearest_name.h"
#include "millrace/launch/place_sections.h"
#include "millrace/launch/secrets_section.h"
#include "millrace/launch/yaml_text.h"
#include "millrace/launch/yaml_value.h"

namespace millrace {
namespace {

using namespace job_file;

// --- what the values of keys look like ---

constexpr ValueType kCount{"number of tasks",
                           R"({"type": "integer", "minimum": 1, "maximum": 4096})"};
constexpr ValueType kAmount{"number", R"({"type": "number", "minimum": 0})"};
constexpr ValueType kPort{"port", R"({"type": "integer", "minimum": 1, "maximum": 65535})"};
constexpr ValueType kRestart{
    "never, on_failure, always; 100; 10 in 5m; or keys",
    R"({"anyOf": [{"enum": ["never", "on_failure", "always"]}, {"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+( in [0-9.]+(ms|s|m|h)?)?$"}, {"$ref": "#/$defs/restart"}]})"};
constexpr ValueType kStarts{"number of starts",
                            R"({"type": "integer", "minimum": 1, "maximum": 1000000})"};
constexpr ValueType kWhen{"never, on_failure, always",
                          R"({"enum": ["never", "on_failure", "always"]})"};
constexpr ValueType kCauses{
    "exit codes, signals, exit, signal, out_of_memory, lost",
    R"({"anyOf": [{"type": ["string", "integer"]}, {"type": "array", "items": {"type": ["string", "integer"]}}]})"};
constexpr ValueType kBudget{
    "10 in 5m, or 10",
    R"({"type": ["string", "integer"], "pattern": "^[0-9]+( in [0-9.]+(ms|s|m|h)?)?$"})"};
constexpr ValueType kMayLose{
    "2, or 10%", R"({"type": ["string", "integer"], "minimum": 0, "pattern": "^[0-9.]+%?$"})"};
constexpr ValueType kPorts{
    "names with ports",
    R"({"type": "object", "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 65535}})"};
constexpr ValueType kRoles{
    "names with a count or keys",
    R"({"type": "object", "minProperties": 1, "additionalProperties": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 4096}, {"$ref": "#/$defs/role"}]}})"};

// --- the keys ---

Status put_ports(const YamlValue& value, NamedPorts& ports) {
  MR_ASSIGN(const std::vector<YamlValue::Entry> entries, value.entries());
  for (const YamlValue::Entry& entry : entries) {
    MR_ASSIGN(ports[entry.key], entry.value.whole_number(1, 65535));
  }
  const Status fits = check_ports(ports);
  return fits.ok() ? fits : value.refuse(fits.message());
}

Status put_causes(const YamlValue& value, std::vector<RestartPolicy::Cause>& causes) {
  MR_ASSIGN(const std::vector<YamlValue> elements, value.elements());
  for (const YamlValue& element : elements)
    MR_TRY(put_parsed(element, parse_cause, causes.emplace_back()));
  if (causes.empty()) return value.refuse("after no failure; write  restart: never");
  return {};
}

constexpr Key<RestartPolicy> kRestartKeys[] = {
    {"when", kWhen, "on_failure", "After which ends a task is started again.",
     [](const YamlValue& value, RestartPolicy& policy) {
       return put_parsed(value, parse_when, policy.when);
     }},
    {"on", kCauses, "all", "Only after these failures.",
     [](const YamlValue& value, RestartPolicy& policy) {
       return put_causes(value, policy.causes);
     }},
    {"attempts", kStarts, "as the budget allows", "How often one task is started at most.",
     [](const YamlValue& value, RestartPolicy& policy) {
       MR_ASSIGN(policy.attempts, value.whole_number(1, kMostRestarts));
       return Status();
     }},
    {"budget", kBudget, "10 in 5m",
     "Restarts of all tasks of the role together, in any such time or in all.",
     [](const YamlValue& value, RestartPolicy& policy) {
       return put_parsed(value, parse_budget, policy.budget);
     }},
    {"pause", kDuration, "1s", "Before the first restart of a task; doubled with each quick end.",
     [](const YamlValue& value, RestartPolicy& policy) {
       return put(value.duration(), policy.pause);
     }},
    {"longest_pause", kDuration, "1m",
     "Up to which the pause grows. A task that lives so long begins with the first pause again.",
     [](const YamlValue& value, RestartPolicy& policy) {
       return put(value.duration(), policy.longest_pause);
     }},
};

Status read_restart(const YamlValue& value, RoleSpec& role) {
  if (!value.is_map()) return put_parsed(value, parse_restart, role.restart);
  role.restart.when = RestartPolicy::When::on_failure;
  return read_keys<RestartPolicy>(value, kRestartKeys, role.restart);
}

constexpr Key<RoleSpec> kRoleKeys[] = {
    {"count", kCount, "1", "How many tasks the role has.",
     [](const YamlValue& value, RoleSpec& role) {
       return put(value.whole_number(1, kMostTasks), role.count);
     }},
    {"min", kCount, "1 with max, else count", "To how few tasks `millrace scale` may go.",
     [](const YamlValue& value, RoleSpec& role) {
       MR_ASSIGN(role.least, value.whole_number(1, kMostTasks));
       return Status();
     }},
    {"max", kCount, "count", "To how many tasks `millrace scale` may go.",
     [](const YamlValue& value, RoleSpec& role) {
       MR_ASSIGN(role.most, value.whole_number(1, kMostTasks));
       return Status();
     }},
    {"command", kWords, "the job's", "Program and arguments of the role's tasks.",
     [](const YamlValue& value, RoleSpec& role) { return put(value.words(), role.command); }},
    {"env", kTexts, "", "Environment variables, over the job's.",
     [](const YamlValue& value, RoleSpec& role) { return put(value.texts(), role.environment); }},
    {"secrets", kSecrets, "", "Variables whose values stand elsewhere, over the job's.",
     [](const YamlValue& value, RoleSpec& role) { return put_secrets(value, role.secrets); }},
    {"cpus", kAmount, "the manager's", "Cores of one task; 0.5 is half of one.",
     [](const YamlValue& value, RoleSpec& role) {
       return put(value.amount(), role.resources.cpus);
     }},
    {"memory", kBytes, "the manager's", "Memory of one task; it is ended when it takes more.",
     [](const YamlValue& value, RoleSpec& role) {
       return put(value.bytes(), role.resources.memory);
     }},
    {"gpus", kWhole, "0", "GPUs of one task.",
     [](const YamlValue& value, RoleSpec& role) {
       return put(value.whole_number(0, 1024), role.resources.gpus);
     }},
    {"nodes", kTexts, "any", "Labels that the machine of a task must have.",
     [](const YamlValue& value, RoleSpec& role) { return put_labels(value, role.nodes); }},
    {"image", kText, "the job's", "The container's image.",
     [](const YamlValue& value, RoleSpec& role) { return put(value.text(), role.image); }},
    {"outputs", kWords, "the job's", "What is brought back of the role's tasks.",
     [](const YamlValue& value, RoleSpec& role) { return put(value.words(), role.outputs); }},
    {"restart", kRestart, "never", "Whether a task that ended is started again, and how often.",
     read_restart},
    {"may_lose", kMayLose, "0", "How many tasks may fail for good, and the job goes on.",
     [](const YamlValue& value, RoleSpec& role) {
       return put_parsed(value, parse_may_lose, role.may_lose);
     }},
    {"stands_by_for", kText, "none",
     "The role whose tasks of the same index these follow, and take over when they are gone.",
     [](const YamlValue& value, RoleSpec& role) { return put(value.text(), role.stands_by_for); }},
    {"ports", kPorts, "none",
     "What its programs serve beside their task's port, by names: for status and port-forward.",
     [](const YamlValue& value, RoleSpec& role) { return put_ports(value, role.ports); }},
    {"kubernetes", kKubernetesSection, "", "What is asked of Kubernetes alone, over the job's.",
     [](const YamlValue& value, RoleSpec& role) { return put_section(value, role.kubernetes); }},
};

Status read_role(const YamlValue::Entry& entry, JobSpec& job) {
  if (!is_job_name(entry.key))
    return entry.value.refuse("a role's name is a letter, then letters, digits and underscores");
  RoleSpec role{.name = entry.key};
  if (entry.value.is_text()) {
    MR_TRY(put(entry.value.whole_number(1, kMostTasks), role.count));
  } else {
    MR_TRY(read_keys<RoleSpec>(entry.value, kRoleKeys, role));
  }
  job.roles.push_back(std::move(role));
  return {};
}

Status read_roles(const YamlValue& value, JobSpec& job) {
  MR_ASSIGN(const std::vector<YamlValue::Entry> entries, value.entries());
  for (const YamlValue::Entry& entry : entries) MR_TRY(read_role(entry, job));
  return {};
}

Status read_name(const YamlValue& value, JobSpec& job) {
  MR_TRY(put(value.text(), job.name));
  if (is_submitted_name(job.name)) return {};
  return value.refuse("'", job.name.substr(0, 80), "' is no name of a job: ", kSubmittedNameRule);
}

Status read_time_limit(const YamlValue& value, JobSpec& job) {
  MR_ASSIGN(const std::chrono::milliseconds limit, value.duration());
  if (limit.count() == 0) return value.refuse("no job can be done in no time");
  job.time_limit = limit;
  return {};
}

constexpr Key<JobSpec> kJobKeys[] = {
    {"name", kText, "of the file", "What the job is called where it runs.", read_name},
    {"command", kWords, "", "Program and arguments of every role that has none of its own.",
     [](const YamlValue& value, JobSpec& job) { return put(value.words(), job.command); }},
    {"roles", kRoles, "",
     "The jobs of the cluster: how many tasks each has, or the keys of a role.", read_roles},
    {"until", kWords, "chief, master and worker; else all",
     "Roles whose success is the job's. The others are then ended.",
     [](const YamlValue& value, JobSpec& job) { return put(value.words(), job.until); }},
    {"env", kTexts, "", "Environment variables of every task.",
     [](const YamlValue& value, JobSpec& job) { return put(value.texts(), job.environment); }},
    {"secrets", kSecrets, "",
     "Environment variables of every task whose values stand elsewhere, and are never shown.",
     [](const YamlValue& value, JobSpec& job) { return put_secrets(value, job.secrets); }},
    {"once", kYesNo, "no",
     "Each element that a session dequeues counts once, though tasks die, stop or try again.",
     [](const YamlValue& value, JobSpec& job) { return put_yes_no(value, job.once); }},
    {"state", kText, "nowhere",
     "The folder where each task keeps its variables and shared queues, for its next life.",
     [](const YamlValue& value, JobSpec& job) { return put(value.text(), job.state); }},
    {"state_keeps", kText, "all",
     "What `state` keeps: all, or asked: those that ask for it, by durable=True.",
     [](const YamlValue& value, JobSpec& job) { return put(value.text(), job.state_keeps); }},
    {"witness", kText, "none",
     "The task, like /job:chief/task:0, that says who owns a state that two tasks have.",
     [](const YamlValue& value, JobSpec& job) { return put(value.text(), job.witness); }},
    {"directory", kText, "where the job is started", "Where the tasks run.",
     [](const YamlValue& value, JobSpec& job) { return put(value.text(), job.directory); }},
    {"image", kText, "", "The container's image, for managers that run containers.",
     [](const YamlValue& value, JobSpec& job) { return put(value.text(), job.image); }},
    {"queue", kText, "the manager's",
     "Kubernetes: Kueue's queue. Slurm: the partition. YARN: the queue.",
     [](const YamlValue& value, JobSpec& job) { return put(value.text(), job.queue); }},
    {"volumes", kTexts, "", "Storage that every task sees: where it appears, and which it is.",
     [](const YamlValue& value, JobSpec& job) { return put_labels(value, job.volumes); }},
    {"files", kWords, "none",
     "What goes along to every task, and lies in a folder of its own; archives are unpacked.",
     [](const YamlValue& value, JobSpec& job) { return put(value.words(), job.files); }},
    {"outputs", kWords, "none",
     "What is brought back of a task when it has ended: paths in its folder, like model/*.",
     [](const YamlValue& value, JobSpec& job) { return put(value.words(), job.outputs); }},
    {"output_dir", kText, kOutputs,
     "Where that is collected, in a folder for each task, like worker_1.",
     [](const YamlValue& value, JobSpec& job) { return put(value.text(), job.output_dir); }},
    {"staging", kText, "machines share folders",
     "YARN, where machines share no folder: the folder of HDFS that the job goes through, or "
     "submitter: this machine gives it out, without any HDFS.",
     [](const YamlValue& value, JobSpec& job) { return put(value.text(), job.staging); }},
    {"kubernetes", kKubernetesSection, "", "What is asked of Kubernetes alone.",
     [](const YamlValue& value, JobSpec& job) { return put_section(value, job.kubernetes); }},
    {"slurm", kSlurmSection, "", "What is asked of Slurm alone.",
     [](const YamlValue& value, JobSpec& job) { return put_section(value, job.slurm); }},
    {"yarn", kYarnSection, "", "What is asked of YARN alone.",
     [](const YamlValue& value, JobSpec& job) { return put_section(value, job.yarn); }},
    {"first_port", kPort, "free ones",
     "This machine only: the tasks get this port and the following.",
     [](const YamlValue& value, JobSpec& job) {
       MR_ASSIGN(job.first_port, value.whole_number(1, 65535));
       return Status();
     }},
    {"grace", kDuration, "5s", "From the request to end to the end by force.",
     [](const YamlValue& value, JobSpec& job) { return put(value.duration(), job.grace); }},
    {"time_limit", kDuration, "none", "The job fails when it takes longer.", read_time_limit},
    {"keep", kDuration, "24h", "How long what is left of an ended job stays where it ran.",
     [](const YamlValue& value, JobSpec& job) { return put(value.duration(), job.keep); }},
};

// What check() says in the words of the command line is said here in those of the file.
Status check_whole(const YamlValue& file, const JobSpec& job) {
  if (job.roles.empty())
    return file.refuse("the job has no roles; write for example  roles: {ps: 1, worker: 2}");
  std::vector<std::string_view> names;
  for (const RoleSpec& role : job.roles) names.push_back(role.name);
  for (const std::string& role : job.until) {
    if (std::ranges::find(names, role) != names.end()) continue;
    const std::string_view near = nearest_name(role, names);
    return file.refuse("until: there is no role '", role, "'",
                       near.empty() ? "" : str_cat("; did you mean '", near, "'?"));
  }
  for (const RoleSpec& role : job.roles) {
    if (command_of(job, role).empty())
      return file.refuse("roles.", role.name, ": no command, neither here nor for the whole job");
  }
  const Status whole = check(job);
  return whole.ok() ? whole : file.refuse(whole.message());
}

// "4Gi", "512Mi", or bytes.
Json bytes_json(int64_t bytes) {
  constexpr std::pair<int64_t, std::string_view> kUnits[] = {{int64_t{1} << 30, "Gi"},
                                                             {int64_t{1} << 20, "Mi"}};
  for (const auto& [unit, name] : kUnits)
    if (bytes % unit == 0) return str_cat(bytes / unit, name);
  return bytes;
}

Json restart_json(const RestartPolicy& policy) {
  Json json = {{"when", to_text(policy.when)}};
  for (const RestartPolicy::Cause& cause : policy.causes) json["on"].push_back(to_text(cause));
  if (policy.attempts) json["attempts"] = *policy.attempts;
  json["budget"] = to_text(policy.budget);
  json["pause"] = duration_text_of(policy.pause);
  json["longest_pause"] = duration_text_of(policy.longest_pause);
  return json;
}

// Nothing of one that says nothing.
template <class Wishes>
void put_section_json(Json& json, const char* key, const Wishes& wishes) {
  if (wishes != Wishes()) json[key] = section_json(wishes);
}

Json role_json(const RoleSpec& role) {
  Json json = {{"count", role.count}};
  if (role.least) json["min"] = *role.least;
  if (role.most) json["max"] = *role.most;
  if (!role.command.empty()) json["command"] = role.command;
  for (const auto& [name, value] : role.environment) json["env"][name] = value;
  if (!role.secrets.empty()) json["secrets"] = secrets_json(role.secrets);
  if (role.resources.cpus > 0) json["cpus"] = role.resources.cpus;
  if (role.resources.memory > 0) json["memory"] = bytes_json(role.resources.memory);
  if (role.resources.gpus > 0) json["gpus"] = role.resources.gpus;
  if (!role.nodes.empty()) json["nodes"] = role.nodes;
  if (!role.image.empty()) json["image"] = role.image;
  if (!role.outputs.empty()) json["outputs"] = role.outputs;
  if (role.restart != RestartPolicy()) json["restart"] = restart_json(role.restart);
  if (role.may_lose != MayLose()) json["may_lose"] = to_text(role.may_lose);
  if (!role.stands_by_for.empty()) json["stands_by_for"] = role.stands_by_for;
  if (!role.ports.empty()) json["ports"] = role.ports;
  put_section_json(json, "kubernetes", role.kubernetes);
  return json;
}

}  // namespace

Result<JobSpec> parse_job_file(std::string_view text, std::string_view file) {
  MR_ASSIGN(const YamlValue value, YamlValue::parse(text, file));
  JobSpec job;
  MR_TRY(read_keys<JobSpec>(value, kJobKeys, job));
  MR_TRY(check_whole(value, job));
  return job;
}

std::string to_job_file(const JobSpec& job) {
  Json json = Json::object();
  auto put_text = [&](const char* key, const std::string& text) {
    if (!text.empty()) json[key] = text;
  };
  put_text("name", job.name);
  if (!job.command.empty()) json["command"] = job.command;
  for (const RoleSpec& role : job.roles) json["roles"][role.name] = role_json(role);
  if (!job.until.empty()) json["until"] = job.until;
  for (const auto& [name, value] : job.environment) json["env"][name] = value;
  if (!job.secrets.empty()) json["secrets"] = secrets_json(job.secrets);
  if (job.once) json["once"] = true;
  put_text("state", job.state);
  put_text("state_keeps", job.state_keeps);
  put_text("witness", job.witness);
  put_text("directory", job.directory);
  put_text("image", job.image);
  put_text("queue", job.queue);
  if (!job.volumes.empty()) json["volumes"] = job.volumes;
  if (!job.files.empty()) json["files"] = job.files;
  if (!job.outputs.empty()) json["outputs"] = job.outputs;
  put_text("output_dir", job.output_dir);
  put_text("staging", job.staging);
  put_section_json(json, "kubernetes", job.kubernetes);
  put_section_json(json, "slurm", job.slurm);
  put_section_json(json, "yarn", job.yarn);
  if (job.first_port) json["first_port"] = *job.first_port;
  json["grace"] = duration_text_of(job.grace);
  if (job.time_limit) json["time_limit"] = duration_text_of(*job.time_limit);
  json["keep"] = duration_text_of(job.keep);
  return to_yaml(json);
}

std::string job_file_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "A job of Millrace"}};
  schema.update(schema_of<JobSpec>(kJobKeys));
  schema["required"] = {"roles"};
  schema["$defs"] = {{"role", schema_of<RoleSpec>(kRoleKeys)},
                     {"restart", schema_of<RestartPolicy>(kRestartKeys)},
                     {"secret", secret_schema()}};
  add_section_schemas(schema["$defs"]);
  return schema.dump(2) + "\n";
}

std::string job_file_reference() {
  return str_cat("## The job\n\n", reference_of<JobSpec>(kJobKeys), "\n## A role\n\n",
                 reference_of<RoleSpec>(kRoleKeys), "\n## Restarts of a role\n\n",
                 reference_of<RestartPolicy>(kRestartKeys), "\n## A secret\n\n", secret_reference(),
                 "\n", section_references());
}

}  // namespace millrace

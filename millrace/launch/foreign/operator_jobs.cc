#include "millrace/launch/foreign/operator_jobs.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/foreign/pod_template.h"

namespace millrace {
namespace {

constexpr std::string_view kReplicaSpecs = "ReplicaSpecs";
constexpr std::string_view kStatus = "what became of a job is not part of it";
constexpr std::string_view kSubmitted = "a job begins when it is submitted";

std::function<Status(const YamlValue&)> take_duration(ImportAccount& account, std::string_view as,
                                                      std::chrono::milliseconds& place) {
  return [&account, as = std::string(as), &place](const YamlValue& value) -> Status {
    MR_ASSIGN(place, value.duration());
    account.took(value, as);
    return {};
  };
}

Status read_metadata(const YamlValue& metadata, Import& import) {
  ImportAccount& account = import.account;
  return read_fields(
      metadata, account,
      {{"name",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(const std::string name, value.text());
          if (import.job.name.empty()) import.job.name = imported_job_name(name);
          account.took(value, "name");
          return {};
        }},
       {"namespace", leave(account, "say it when the job is submitted: --namespace")}});
}

// --- TFJob, PyTorchJob, MPIJob ---

// Budgets that roles share there are each role's here.
void set_budget(Import& import, int restarts) {
  for (RoleSpec& role : import.job.roles)
    if (role.restart.when != RestartPolicy::When::never)
      role.restart.budget = {.restarts = restarts, .window = std::nullopt};
}

Status read_backoff_limit(const YamlValue& value, Import& import) {
  MR_ASSIGN(const int restarts, value.whole_number(0, kMostRestarts));
  if (restarts == 0) {
    import.account.left(value, "a role that restarts does so more than 0 times");
    return {};
  }
  set_budget(import, restarts);
  import.account.took(value, "restart.budget of each role that restarts");
  return {};
}

Status read_scheduling(const YamlValue& policy, Import& import) {
  ImportAccount& account = import.account;
  return read_fields(
      policy, account,
      {{"queue", take_text(account, "queue", import.job.queue)},
       {"minAvailable", leave(account, "a job begins when all its tasks are there")}});
}

std::vector<FieldReader> run_policy_readers(Import& import) {
  ImportAccount& account = import.account;
  return {
      {"activeDeadlineSeconds",
       [&](const YamlValue& value) -> Status {
         MR_ASSIGN(import.job.time_limit, value.duration());
         account.took(value, "time_limit");
         return {};
       }},
      {"ttlSecondsAfterFinished", take_duration(account, "keep", import.job.keep)},
      {"backoffLimit", [&](const YamlValue& value) { return read_backoff_limit(value, import); }},
      {"cleanPodPolicy",
       leave(account, "when the roles of until have succeeded, all others are ended")},
      {"schedulingPolicy", [&](const YamlValue& value) { return read_scheduling(value, import); }},
      {"suspend", leave(account, kSubmitted)}};
}

Status read_replica(const YamlValue::Entry& entry, Import& import) {
  ImportAccount& account = import.account;
  MR_ASSIGN(RoleSpec* const role, new_role(import, entry.value, entry.key));
  // The template's own words on restarts count only if the operator has none.
  return read_fields(
      entry.value, account,
      {{"replicas",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(role->count, value.whole_number(1, kMostTasks));
          account.took(value, str_cat("roles.", role->name, ".count"));
          return {};
        }},
       {"template",
        [&](const YamlValue& value) { return read_pod_template(value, import, *role); }},
       {"restartPolicy",
        [&](const YamlValue& value) { return read_pod_restart(value, import, *role); }}});
}

Status read_replicas(const YamlValue& replicas, Import& import) {
  MR_ASSIGN(const std::vector<YamlValue::Entry> entries, replicas.entries());
  if (entries.empty()) return replicas.refuse("there are no roles");
  for (const YamlValue::Entry& entry : entries) MR_TRY(read_replica(entry, import));
  return {};
}

bool has_role(const JobSpec& job, std::string_view name) {
  return std::ranges::find(job.roles, name, &RoleSpec::name) != job.roles.end();
}

Status read_success_policy(const YamlValue& value, Import& import) {
  MR_ASSIGN(const std::string policy, value.text());
  if (policy == "AllWorkers" && has_role(import.job, "worker")) {
    import.job.until = {"worker"};
    import.account.took(value, "until");
  } else if (policy.empty()) {
    import.account.took(value, "until, as it is unless it is said");
  } else {
    return value.refuse("'", policy.substr(0, 40),
                        "': there is AllWorkers, for a job that has workers");
  }
  return {};
}

// Who decides there, unless it is said: the chief or master; else worker 0.
void set_until(const YamlValue& spec, Import& import) {
  JobSpec& job = import.job;
  if (!job.until.empty()) return;
  for (const char* chief : {"chief", "master", "launcher"})
    if (has_role(job, chief) && job.until.empty()) job.until = {chief};
  if (!job.until.empty() || !has_role(job, "worker")) return;
  job.until = {"worker"};
  import.account.left(spec,
                      "worker 0 alone decides there when the job has succeeded; here all "
                      "workers do (until)");
}

Status read_operator_job(const YamlValue& spec, Import& import) {
  ImportAccount& account = import.account;
  std::vector<FieldReader> readers;
  MR_ASSIGN(const std::vector<YamlValue::Entry> entries, spec.entries());
  for (const YamlValue::Entry& entry : entries)
    if (entry.key.ends_with(kReplicaSpecs))
      readers.push_back(
          {entry.key, [&](const YamlValue& value) { return read_replicas(value, import); }});
  if (readers.size() != 1)
    return spec.refuse(
        "one of tfReplicaSpecs, pytorchReplicaSpecs and mpiReplicaSpecs is expected"
        ", and there are ",
        readers.size());
  // Before v1, what is in runPolicy stood here.
  for (FieldReader& reader : run_policy_readers(import)) readers.push_back(std::move(reader));
  readers.push_back({"runPolicy", [&](const YamlValue& value) {
                       return read_fields(value, account, run_policy_readers(import));
                     }});
  readers.push_back({"successPolicy",
                     [&](const YamlValue& value) { return read_success_policy(value, import); }});
  readers.push_back(
      {"slotsPerWorker", leave(account, "a task is one process; give the role more tasks")});
  MR_TRY(read_fields(spec, account, readers));
  set_until(spec, import);
  return {};
}

// --- Job and JobSet ---

// A built-in Job as a role with `replicas` times its pods.
Status read_job_spec(const YamlValue& spec, Import& import, RoleSpec& role, int replicas) {
  ImportAccount& account = import.account;
  const std::string count_key = str_cat("roles.", role.name, ".count");
  const auto read_count = [&](const YamlValue& value) -> Status {
    MR_ASSIGN(const int pods, value.whole_number(1, kMostTasks));
    if (pods > kMostTasks / replicas)
      return value.refuse(pods, " times ", replicas, " tasks; at most ", kMostTasks);
    role.count = pods * replicas;
    account.took(value, count_key);
    return {};
  };
  role.count = replicas;
  return read_fields(
      spec, account,
      {{"parallelism", read_count},
       {"completions", read_count},
       {"completionMode", leave(account, "every task has an index")},
       {"activeDeadlineSeconds",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(import.job.time_limit, value.duration());
          account.took(value, "time_limit");
          return {};
        }},
       {"ttlSecondsAfterFinished", take_duration(account, "keep", import.job.keep)},
       {"suspend", leave(account, kSubmitted)},
       {"template", [&](const YamlValue& value) { return read_pod_template(value, import, role); }},
       {"backoffLimit",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(const int restarts, value.whole_number(0, INT32_MAX));
          if (role.restart.when == RestartPolicy::When::never || restarts == 0) {
            account.left(value, "how often tasks restart counts for roles that do (OnFailure)");
            return {};
          }
          role.restart.budget = {.restarts = std::min(restarts, kMostRestarts),
                                 .window = std::nullopt};
          account.took(value, str_cat("roles.", role.name, ".restart.budget"));
          return {};
        }},
       {"backoffLimitPerIndex",
        leave(account, "a task that fails has failed, unless its role restarts")},
       {"podReplacementPolicy",
        leave(account, "two processes never have one identity, whatever is said")}});
}

Status read_replicated_job(const YamlValue& replicated, Import& import) {
  ImportAccount& account = import.account;
  MR_ASSIGN(const auto name, find_field(replicated, "name"));
  if (!name) return replicated.refuse("a replicated job without a name");
  MR_ASSIGN(const std::string role_name, name->text());
  MR_ASSIGN(RoleSpec* const role, new_role(import, *name, role_name));
  int replicas = 1;
  return read_fields(
      replicated, account,
      {{"name", leave(account, str_cat("it is roles.", role->name))},
       {"replicas",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(replicas, value.whole_number(1, kMostTasks));
          account.took(value, str_cat("roles.", role->name, ".count"));
          return {};
        }},
       {"template", [&](const YamlValue& value) -> Status {
          const auto read_spec = [&](const YamlValue& spec) {
            return read_job_spec(spec, import, *role, replicas);
          };
          return read_fields(
              value, account,
              {{"metadata", leave(account, "whoever runs the job makes labels and annotations")},
               {"spec", read_spec}});
        }}});
}

Status read_job_set(const YamlValue& spec, Import& import) {
  ImportAccount& account = import.account;
  return read_fields(
      spec, account,
      {{"replicatedJobs",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(const std::vector<YamlValue> jobs, value.elements());
          if (jobs.empty()) return value.refuse("there are no roles");
          for (const YamlValue& job : jobs) MR_TRY(read_replicated_job(job, import));
          return {};
        }},
       {"successPolicy",
        [&](const YamlValue& value) -> Status {
          return read_fields(
              value, account,
              {{"operator", leave(account, "all tasks of the roles of until have to succeed")},
               {"targetReplicatedJobs", [&](const YamlValue& names) -> Status {
                  MR_ASSIGN(const std::vector<std::string> words, names.words());
                  for (const std::string& word : words)
                    import.job.until.push_back(imported_role_name(word));
                  account.took(names, "until");
                  return {};
                }}});
        }},
       {"ttlSecondsAfterFinished", take_duration(account, "keep", import.job.keep)},
       {"failurePolicy", leave(account,
                               "a whole job is not started again; its roles' tasks are, "
                               "by restart")},
       {"startupPolicy", leave(account, "tasks begin in any order and wait for each other")},
       {"network", leave(account, "whoever runs the job makes the tasks' names")},
       {"suspend", leave(account, kSubmitted)}});
}

// Of our own Jobs, the label tells the job, and the name the job and the role.
Status read_built_in_job(const YamlValue& document, const YamlValue& spec, Import& import) {
  MR_ASSIGN(const auto metadata, find_field(document, "metadata"));
  if (!metadata) return document.refuse("metadata with a name is expected");
  MR_ASSIGN(const auto name, find_field(*metadata, "name"));
  if (!name) return metadata->refuse("a name is expected");
  MR_ASSIGN(std::string role_name, name->text());
  MR_ASSIGN(const auto labels, find_field(*metadata, "labels"));
  if (labels) {
    MR_ASSIGN(const auto instance, find_field(*labels, "app.kubernetes.io/instance"));
    if (instance) {
      MR_ASSIGN(import.job.name, instance->text());
      if (role_name.starts_with(import.job.name + "-")) role_name.erase(0, import.job.name.size());
      import.account.took(*instance, "name");
    }
    MR_ASSIGN(const auto queue, find_field(*labels, "kueue.x-k8s.io/queue-name"));
    if (queue) {
      MR_ASSIGN(import.job.queue, queue->text());
      import.account.took(*queue, "queue");
    }
  }
  MR_ASSIGN(RoleSpec* const role, new_role(import, *name, role_name));
  import.account.took(*name, str_cat("roles.", role->name));
  return read_job_spec(spec, import, *role, 1);
}

Result<std::string> text_of(const YamlValue& document, std::string_view key) {
  MR_ASSIGN(const auto value, find_field(document, key));
  if (!value) return std::string();
  return value->text();
}

}  // namespace

bool is_kubernetes_object(const YamlValue& document) {
  if (!document.is_map()) return false;
  const auto kind = text_of(document, "kind");
  const auto version = text_of(document, "apiVersion");
  return kind.ok() && version.ok() && !kind->empty() && !version->empty();
}

Status import_kubernetes_object(const YamlValue& document, Import& import) {
  MR_ASSIGN(const std::string kind, text_of(document, "kind"));
  ImportAccount& account = import.account;
  const bool is_operator_job = kind == "TFJob" || kind == "PyTorchJob" || kind == "MPIJob";
  if (!is_operator_job && kind != "JobSet" && kind != "Job") {
    account.left(document, str_cat("a ", kind.substr(0, 80),
                                   ", which is no job: whoever runs the job makes what it needs"));
    return {};
  }
  if (kind != "Job" && !import.job.roles.empty())
    return document.refuse("a second job; import one at a time");
  MR_ASSIGN(const auto spec, find_field(document, "spec"));
  if (!spec) return document.refuse("a ", kind, " without a spec");
  const auto read_kind = [&](const YamlValue& value) {
    account.took(value, "how the rest is read");
    return Status();
  };
  return read_fields(document, account,
                     {{"apiVersion", read_kind},
                      {"kind", read_kind},
                      {"metadata",
                       [&](const YamlValue& value) {
                         return kind == "Job" ? Status() : read_metadata(value, import);
                       }},
                      {"spec",
                       [&](const YamlValue& value) {
                         return is_operator_job    ? read_operator_job(value, import)
                                : kind == "JobSet" ? read_job_set(value, import)
                                                   : read_built_in_job(document, value, import);
                       }},
                      {"status", leave(account, kStatus)}});
}

}  // namespace millrace

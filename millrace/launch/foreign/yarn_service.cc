#include "millrace/launch/foreign/yarn_service.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr std::string_view kIndexName = "${COMPONENT_ID}";
constexpr int kMostServiceMegabytes = 1 << 30;

// ${COMPONENT_ID} is what we call {task_index}.
std::string with_index(std::string text) {
  for (size_t at = text.find(kIndexName); at != text.npos; at = text.find(kIndexName, at))
    text.replace(at, kIndexName.size(), "{task_index}");
  return text;
}

Status read_service_gpus(const YamlValue& additional, Import& import, RoleSpec& role) {
  return read_fields(additional, import.account,
                     {{"yarn.io/gpu", [&](const YamlValue& gpu) {
                         return read_fields(
                             gpu, import.account,
                             {{"value", [&](const YamlValue& value) -> Status {
                                 MR_ASSIGN(role.resources.gpus, value.whole_number(0, 1024));
                                 import.account.took(value, str_cat("roles.", role.name, ".gpus"));
                                 return {};
                               }}});
                       }}});
}

Status read_service_resource(const YamlValue& resource, Import& import, RoleSpec& role) {
  ImportAccount& account = import.account;
  return read_fields(
      resource, account,
      {{"cpus",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(role.resources.cpus, value.amount());
          account.took(value, str_cat("roles.", role.name, ".cpus"));
          return {};
        }},
       {"memory",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(const int megabytes, value.whole_number(0, kMostServiceMegabytes));
          role.resources.memory = int64_t{megabytes} << 20;
          account.took(value, str_cat("roles.", role.name, ".memory"));
          return {};
        }},
       {"additional",
        [&](const YamlValue& value) { return read_service_gpus(value, import, role); }}});
}

Status read_artifact(const YamlValue& artifact, Import& import, const std::string& as,
                     std::string& image) {
  MR_ASSIGN(const auto type, find_field(artifact, "type"));
  std::string kind = "DOCKER";
  if (type) {
    MR_ASSIGN(kind, type->text());
  }
  if (kind != "DOCKER") {
    import.account.left(artifact, "the program has to be on the machines, or in an image");
    return {};
  }
  return read_fields(artifact, import.account,
                     {{"type", leave(import.account, "images are of one kind")},
                      {"id", take_text(import.account, as, image)}});
}

// `key`: "roles.ps.env", or "env" of the whole service.
Status read_configuration(const YamlValue& configuration, Import& import, const std::string& key,
                          std::vector<EnvironmentEntry>& environment) {
  ImportAccount& account = import.account;
  const auto read_env = [&](const YamlValue& env) -> Status {
    MR_ASSIGN(const std::vector<YamlValue::Entry> entries, env.entries());
    for (const YamlValue::Entry& entry : entries) {
      MR_ASSIGN(const std::string text, entry.value.text());
      take_variable(import, entry.value.where(), key, environment, entry.key, text);
      MR_TRY(account.check());
    }
    return {};
  };
  return read_fields(configuration, account,
                     {{"env", read_env},
                      {"files", leave(account, "files have to be on the machines")},
                      {"properties", leave(account, "they are for YARN's own launcher")}});
}

Status read_restart_policy(const YamlValue& value, Import& import, RoleSpec& role) {
  MR_ASSIGN(const std::string policy, value.text());
  if (policy == "ALWAYS") {
    role.restart.when = RestartPolicy::When::always;
  } else if (policy == "ON_FAILURE") {
    role.restart.when = RestartPolicy::When::on_failure;
  } else if (policy == "NEVER") {
    role.restart.when = RestartPolicy::When::never;
  } else {
    return value.refuse("'", policy.substr(0, 40), "': there are ALWAYS, ON_FAILURE and NEVER");
  }
  import.account.took(value, str_cat("roles.", role.name, ".restart"));
  return {};
}

// A list of node_partitions is what Slider called a label.
Status read_placement(const YamlValue& policy, Import& import, RoleSpec& role) {
  ImportAccount& account = import.account;
  const auto read_constraint = [&](const YamlValue& constraint) {
    return read_fields(
        constraint, account,
        {{"type", leave(account, "labels of machines are all that a role can ask for")},
         {"scope", leave(account, "labels of machines are all that a role can ask for")},
         {"node_partitions", [&](const YamlValue& value) -> Status {
            MR_ASSIGN(const std::vector<std::string> labels, value.words());
            for (const std::string& label : labels) role.nodes[label] = "";
            account.took(value, str_cat("roles.", role.name, ".nodes"));
            return {};
          }}});
  };
  return read_fields(policy, account, {{"constraints", [&](const YamlValue& value) -> Status {
                                          MR_ASSIGN(const std::vector<YamlValue> all,
                                                    value.elements());
                                          for (const YamlValue& one : all)
                                            MR_TRY(read_constraint(one));
                                          return {};
                                        }}});
}

Status read_service_component(const YamlValue& component, Import& import) {
  ImportAccount& account = import.account;
  MR_ASSIGN(const auto name, find_field(component, "name"));
  if (!name) return component.refuse("a component without a name");
  MR_ASSIGN(const std::string role_name, name->text());
  MR_ASSIGN(RoleSpec* const role, new_role(import, *name, role_name));
  const std::string key = str_cat("roles.", role->name);
  // What YARN does unless it is said.
  role->restart.when = RestartPolicy::When::always;
  return read_fields(
      component, account,
      {{"name",
        [&](const YamlValue& value) {
          account.took(value, key);
          return Status();
        }},
       {"number_of_containers",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(role->count, value.whole_number(1, kMostTasks));
          account.took(value, str_cat(key, ".count"));
          return {};
        }},
       {"launch_command",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(role->command, value.words());
          for (std::string& word : role->command) word = with_index(std::move(word));
          account.took(value, str_cat(key, ".command"));
          for (const std::string& word : role->command)
            if (word.find("${") != std::string::npos)
              account.left(value, str_cat("what YARN puts in for '", word.substr(0, 80),
                                          "': nothing does so here"));
          return {};
        }},
       {"artifact",
        [&](const YamlValue& value) {
          return read_artifact(value, import, str_cat(key, ".image"), role->image);
        }},
       {"resource",
        [&](const YamlValue& value) { return read_service_resource(value, import, *role); }},
       {"configuration",
        [&](const YamlValue& value) {
          return read_configuration(value, import, str_cat(key, ".env"), role->environment);
        }},
       {"restart_policy",
        [&](const YamlValue& value) { return read_restart_policy(value, import, *role); }},
       {"placement_policy",
        [&](const YamlValue& value) { return read_placement(value, import, *role); }},
       {"dependencies", leave(account, "tasks begin in any order and wait for each other")},
       {"readiness_check", leave(account, "a task is ready when it has told its address")}});
}

}  // namespace

bool is_yarn_service(const YamlValue& document) {
  if (!document.is_map()) return false;
  const auto components = find_field(document, "components");
  return components.ok() && *components && (*components)->is_list();
}

Status import_yarn_service(const YamlValue& document, Import& import) {
  ImportAccount& account = import.account;
  const auto read_lifetime = [&](const YamlValue& value) -> Status {
    MR_ASSIGN(const std::string text, value.text());
    if (text == "-1") {
      account.left(value, "no limit, as it is unless it is said");
      return {};
    }
    MR_ASSIGN(import.job.time_limit, value.duration());
    account.took(value, "time_limit");
    return {};
  };
  return read_fields(document, account,
                     {{"name",
                       [&](const YamlValue& value) -> Status {
                         MR_ASSIGN(const std::string name, value.text());
                         import.job.name = imported_job_name(name);
                         account.took(value, "name");
                         return {};
                       }},
                      {"version", leave(account, "a job has none")},
                      {"description", leave(account, "a job has none")},
                      {"queue", take_text(account, "queue", import.job.queue)},
                      {"lifetime", read_lifetime},
                      {"artifact",
                       [&](const YamlValue& value) {
                         return read_artifact(value, import, "image", import.job.image);
                       }},
                      {"components",
                       [&](const YamlValue& value) -> Status {
                         MR_ASSIGN(const std::vector<YamlValue> components, value.elements());
                         if (components.empty()) return value.refuse("there are no roles");
                         for (const YamlValue& component : components)
                           MR_TRY(read_service_component(component, import));
                         return {};
                       }},
                      {"configuration", [&](const YamlValue& value) -> Status {
                         return read_configuration(value, import, "env", import.job.environment);
                       }}});
}

}  // namespace millrace

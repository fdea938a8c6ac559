#include "millrace/launch/foreign/slider.h"

#include <algorithm>
#include <charconv>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr std::string_view kInstances = "yarn.component.instances";
constexpr std::string_view kGlobalScript = "site.global.user.scripts.entry";
constexpr std::string_view kMaster = "slider-appmaster";
constexpr std::string_view kChief = "chiefworker";
constexpr std::chrono::hours kFailureWindow{6};  // unless it is said
constexpr int kMostMegabytes = 1 << 30;

bool is_resources(const YamlValue& document) {
  const auto components = find_field(document, "components");
  if (!components.ok() || !*components || !(*components)->is_map()) return false;
  const auto entries = (*components)->entries();
  if (!entries.ok()) return false;
  return std::ranges::any_of(*entries, [](const YamlValue::Entry& component) {
    if (component.key == kMaster) return true;
    if (!component.value.is_map()) return false;
    const auto instances = find_field(component.value, kInstances);
    return instances.ok() && *instances;
  });
}

bool is_application_config(const YamlValue& document) {
  const auto global = find_field(document, "global");
  if (!global.ok() || !*global || !(*global)->is_map()) return false;
  const auto entries = (*global)->entries();
  return entries.ok() && std::ranges::any_of(*entries, [](const YamlValue::Entry& entry) {
           return entry.key.starts_with("site.") || entry.key == "application.def";
         });
}

bool is_metainfo(const YamlValue& document) {
  const auto version = find_field(document, "schemaVersion");
  const auto application = find_field(document, "application");
  return version.ok() && *version && application.ok() && *application;
}

// How often containers of a role may fail within the window; 0 is not never, but without an end.
Status read_threshold(const YamlValue& value, Import& import, RoleSpec& role) {
  MR_ASSIGN(const int failures, value.whole_number(0, kMostRestarts));
  role.restart.when = RestartPolicy::When::on_failure;
  const std::string key = str_cat("roles.", role.name, ".restart");
  if (failures == 0) {
    role.restart.budget = {.restarts = kMostRestarts, .window = std::nullopt};
    import.account.took(value, str_cat(key, "; 0 is no limit there"));
  } else {
    role.restart.budget = {.restarts = failures, .window = kFailureWindow};
    import.account.took(value, str_cat(key, ", in the 6 hours that Slider counts in"));
  }
  return {};
}

Status read_component(const YamlValue::Entry& entry, Import& import) {
  ImportAccount& account = import.account;
  if (entry.key == kMaster) {
    account.left(entry.value, "the launcher asks for its own container");
    return {};
  }
  MR_ASSIGN(RoleSpec* const role, new_role(import, entry.value, entry.key));
  const auto key = [&](std::string_view name) { return str_cat("roles.", role->name, ".", name); };
  return read_fields(
      entry.value, account,
      {{kInstances,
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(role->count, value.whole_number(1, kMostTasks));
          account.took(value, key("count"));
          return {};
        }},
       {"yarn.memory",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(const int megabytes, value.whole_number(0, kMostMegabytes));
          role->resources.memory = int64_t{megabytes} << 20;
          account.took(value, key("memory"));
          return {};
        }},
       {"yarn.vcores",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(role->resources.cpus, value.amount());
          account.took(value, key("cpus"));
          return {};
        }},
       {"yarn.label.expression",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(const std::string label, value.text());
          if (!label.empty()) role->nodes[label] = "";
          account.took(value, key("nodes"));
          return {};
        }},
       {"yarn.container.failure.threshold",
        [&](const YamlValue& value) { return read_threshold(value, import, *role); }},
       {"yarn.role.priority", leave(account, "no role is given its machines before another")}});
}

Status read_components(const YamlValue& components, Import& import) {
  MR_ASSIGN(const std::vector<YamlValue::Entry> entries, components.entries());
  for (const YamlValue::Entry& entry : entries) MR_TRY(read_component(entry, import));
  return {};
}

// What the package's script starts in each container.
Status read_script(const YamlValue& value, Import& import) {
  MR_ASSIGN(const std::string script, value.text());
  import.job.command = {"python",
                        script,
                        "--ps_hosts={ps_hosts}",
                        "--worker_hosts={worker_hosts}",
                        "--job_name={job_name}",
                        "--task_index={task_index}"};
  import.account.took(value, "command, with the arguments that every task is started with there");
  return {};
}

Status read_global(const YamlValue& global, Import& import) {
  ImportAccount& account = import.account;
  MR_ASSIGN(const std::vector<YamlValue::Entry> entries, global.entries());
  std::vector<FieldReader> readers = {
      {kGlobalScript, [&](const YamlValue& value) { return read_script(value, import); }},
      {"site.global.docker.image", take_text(account, "image", import.job.image)},
      {"application.def", leave(account, "the program has to be on the machines, or in the image")},
      {"site.global.user.checkpoint.prefix",
       leave(account, "write it into the command, as the program takes it: --ckp_dir=...")}};
  for (const YamlValue::Entry& entry : entries) {
    if (!entry.key.ends_with(".port")) continue;
    readers.push_back({entry.key, leave(account, "every task gets a port of its own")});
  }
  return read_fields(global, account, readers);
}

Status read_application(const YamlValue& application, Import& import) {
  ImportAccount& account = import.account;
  return read_fields(
      application, account,
      {{"name",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(const std::string name, value.text());
          import.job.name = imported_job_name(name);
          account.took(value, "name");
          return {};
        }},
       {"exportGroups", leave(account, "tasks learn each other's addresses from the launcher")},
       {"components", leave(account, "resources.json says which there are")}});
}

}  // namespace

bool is_slider_file(const YamlValue& document) {
  return document.is_map() &&
         (is_resources(document) || is_application_config(document) || is_metainfo(document));
}

Status import_slider_file(const YamlValue& document, Import& import) {
  ImportAccount& account = import.account;
  const auto read_component_list = [&](const YamlValue& value) {
    return read_components(value, import);
  };
  const std::function<Status(const YamlValue&)> leave_components =
      leave(account, "what Slider's own scripts are told of each component");
  return read_fields(
      document, account,
      {{"schema", leave(account, "how Slider reads the rest")},
       {"schemaVersion", leave(account, "how Slider reads the rest")},
       {"global",
        [&](const YamlValue& value) {
          return is_resources(document) ? read_fields(value, account, {})
                                        : read_global(value, import);
        }},
       {"application", [&](const YamlValue& value) { return read_application(value, import); }},
       {"components", [&](const YamlValue& value) {
          return is_resources(document) ? read_component_list(value) : leave_components(value);
        }}});
}

void finish_slider(Import& import) {
  std::vector<RoleSpec>& roles = import.job.roles;
  const auto chief = std::ranges::find(roles, kChief, &RoleSpec::name);
  const auto worker = std::ranges::find(roles, "worker", &RoleSpec::name);
  if (chief == roles.end()) return;
  if (worker == roles.end()) {
    chief->name = "worker";
  } else {
    worker->count += chief->count;
    if (chief->resources != worker->resources || chief->nodes != worker->nodes)
      import.account.left("component chiefworker",
                          "workers of one role ask for the same machine: the worker's");
    roles.erase(chief);
  }
  import.job.until = {"worker"};
  import.account.took("component chiefworker",
                      "roles.worker: it is the first of the workers, worker:0; until: worker");
}

}  // namespace millrace

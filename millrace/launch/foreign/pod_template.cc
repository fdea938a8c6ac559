#include "millrace/launch/foreign/pod_template.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/job_file_key.h"

namespace millrace {
namespace {

constexpr std::string_view kAlone = "a task is one program; nothing of a job file stands beside it";
constexpr std::string_view kPortsOwn = "every task gets a port of its own, and tells the others";
constexpr std::string_view kTaskIndex = "{task_index}";

// Containers that operators take for the task, if there are several.
constexpr std::string_view kTaskContainers[] = {"tensorflow", "pytorch", "task"};
// Where operators write a pod's index, for those who put it into a variable.
constexpr std::string_view kIndexPaths[] = {"job-completion-index", "replica-index"};

// What stands in a container's variables: its value, or {task_index}.
using Variables = std::map<std::string, std::string, std::less<>>;

// NAME of "$(NAME)..."; "" without one. No name is longer than this.
std::string_view name_after_dollar(std::string_view text) {
  constexpr size_t kLongestVariable = 1024;
  if (!text.starts_with("$(")) return "";
  const std::string_view name = text.substr(2, kLongestVariable);
  const size_t close = name.find(')');
  return close == name.npos ? "" : name.substr(0, close);
}

// As Kubernetes puts variables in: $(NAME), and $$ for a '$' that stays. Variables stand for
// others, so that a few of them can be more than any memory holds.
Result<std::string> expanded(const YamlValue& value, const Variables& variables, Import& import) {
  MR_ASSIGN(const std::string written, value.text());
  std::string_view text = written;
  std::string whole;
  while (!text.empty()) {
    if (import.expanded + whole.size() > YamlValue::kLargestFile)
      return value.refuse("the variables of its pods stand for more than ", YamlValue::kLargestFile,
                          " letters; write less");
    const size_t plain = std::min(text.find('$'), text.size());
    whole += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.starts_with("$$")) {
      whole += '$';
      text.remove_prefix(2);
      continue;
    }
    const std::string_view name = name_after_dollar(text);
    const auto known = variables.find(name);
    if (!name.empty() && (known != variables.end() || name == "JOB_COMPLETION_INDEX")) {
      whole += known == variables.end() ? kTaskIndex : std::string_view(known->second);
      text.remove_prefix(name.size() + 3);
      continue;
    }
    whole += text.substr(0, 1);
    text.remove_prefix(std::min<size_t>(1, text.size()));
  }
  import.expanded += whole.size();
  return whole;
}

// "500m", "2", "1.5": cores.
Result<double> cores_of(const YamlValue& value) {
  MR_ASSIGN(const std::string text, value.text());
  double amount = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, amount, std::chars_format::fixed);
  const std::string_view unit(stop, static_cast<size_t>(end - stop));
  if (fault != std::errc() || !(amount >= 0 && amount <= 1e9) || (!unit.empty() && unit != "m"))
    return value.refuse("'", text.substr(0, 40), "' is no number of cores; write 2, 0.5 or 500m");
  return unit == "m" ? amount / 1000 : amount;
}

// --- a container ---

class ContainerReader {
 public:
  ContainerReader(Import& import, RoleSpec& role, const Variables& claims)
      : import_(import), account_(import.account), role_(role), claims_(claims) {}

  Status read(const YamlValue& container) {
    MR_TRY(read_fields(
        container, account_,
        {{"name", leave(account_, "tasks are called by role and index")},
         {"image", take_text(account_, key("image"), role_.image)},
         {"env", [this](const YamlValue& value) { return read_variables(value); }},
         {"envFrom", leave(account_, "what it holds stands in the cluster; write it into env")},
         {"command", [this](const YamlValue& value) { return read_words(value); }},
         {"args", [this](const YamlValue& value) { return read_words(value); }},
         {"resources", [this](const YamlValue& value) { return read_resources(value); }},
         {"workingDir",
          [this](const YamlValue& value) -> Status {
            MR_ASSIGN(const std::string directory, value.text());
            take_directory(import_, value.where(), directory);
            return {};
          }},
         {"volumeMounts", [this](const YamlValue& value) { return read_mounts(value); }},
         {"ports", [this](const YamlValue& value) { return read_ports(value); }}}));
    return take_join();
  }

 private:
  std::string key(std::string_view name) const { return str_cat("roles.", role_.name, ".", name); }

  Status read_variables(const YamlValue& list) {
    MR_ASSIGN(const std::vector<YamlValue> entries, list.elements());
    for (const YamlValue& entry : entries) {
      MR_ASSIGN(const auto named, find_field(entry, "name"));
      if (!named) return entry.refuse("a variable without a name");
      MR_ASSIGN(const std::string name, named->text());
      MR_ASSIGN(const auto value, find_field(entry, "value"));
      MR_ASSIGN(const auto source, find_field(entry, "valueFrom"));
      if (source) {
        MR_TRY(read_variable_source(*source, name));
      } else {
        std::string text;
        if (value) {
          MR_ASSIGN(text, expanded(*value, variables_, import_));
        }
        variables_[name] = text;
        take_variable(import_, entry.where(), key("env"), role_.environment, name, text);
      }
      MR_TRY(account_.check());
    }
    return {};
  }

  Status read_variable_source(const YamlValue& source, const std::string& name) {
    MR_ASSIGN(const auto field, find_field(source, "fieldRef"));
    std::string path;
    if (field) {
      MR_ASSIGN(const auto written, find_field(*field, "fieldPath"));
      if (written) {
        MR_ASSIGN(path, written->text());
      }
    }
    for (const std::string_view index : kIndexPaths) {
      if (path.find(index) == path.npos) continue;
      variables_[name] = kTaskIndex;
      account_.took(source, str_cat("{task_index}, where the command says $(", name, ")"));
      return {};
    }
    MR_ASSIGN(const auto secret, find_field(source, "secretKeyRef"));
    if (secret) return read_secret(source, *secret, name);
    account_.left(source, "its value stands in the cluster; a job file has texts only");
    return {};
  }

  Status read_secret(const YamlValue& source, const YamlValue& reference,
                     const std::string& variable) {
    MR_ASSIGN(const auto named, find_field(reference, "name"));
    MR_ASSIGN(const auto keyed, find_field(reference, "key"));
    if (!named || !keyed) return reference.refuse("name and key are expected");
    MR_ASSIGN(const std::string name, named->text());
    MR_ASSIGN(const std::string key_of_it, keyed->text());
    const SecretSource from{.kind = SecretSource::Kind::kubernetes,
                            .from = str_cat(name, "/", key_of_it)};
    if (const Status fits = check_secret(variable, from); !fits.ok()) {
      account_.left(source, fits.message());
      return {};
    }
    role_.secrets[variable] = from;
    account_.took(source, key(str_cat("secrets.", variable)));
    return {};
  }

  // But those by which tasks find each other: they have one each anyway.
  Status read_ports(const YamlValue& list) {
    MR_ASSIGN(const std::vector<YamlValue> ports, list.elements());
    NamedPorts named_ports;
    for (const YamlValue& port : ports) {
      MR_ASSIGN(const auto name, find_field(port, "name"));
      MR_ASSIGN(const auto number, find_field(port, "containerPort"));
      if (!name || !number) continue;
      MR_ASSIGN(const std::string text, name->text());
      MR_ASSIGN(named_ports[text], number->whole_number(1, 65535));
      if (!check_ports(named_ports).ok()) named_ports.erase(text);
    }
    role_.ports = named_ports;
    if (named_ports.empty() || named_ports.size() < ports.size()) account_.left(list, kPortsOwn);
    if (!named_ports.empty())
      account_.took(list, str_cat(key("ports"), ": ", to_text(named_ports)));
    return {};
  }

  // Of `command` and then `args`: together they are the task's command.
  Status read_words(const YamlValue& value) {
    MR_ASSIGN(const std::vector<YamlValue> words, value.elements());
    for (const YamlValue& word : words) {
      MR_ASSIGN(std::string text, expanded(word, variables_, import_));
      role_.command.push_back(std::move(text));
    }
    account_.took(value, key("command"));
    return {};
  }

  // Limits stand over requests: a task that takes more memory is ended, here as there.
  Status read_resources(const YamlValue& resources) {
    const auto amounts = [this](const YamlValue& value) { return read_amounts(value); };
    return read_fields(resources, account_, {{"requests", amounts}, {"limits", amounts}});
  }

  Status read_amounts(const YamlValue& amounts) {
    return read_fields(amounts, account_,
                       {{"cpu",
                         [this](const YamlValue& value) -> Status {
                           MR_ASSIGN(role_.resources.cpus, cores_of(value));
                           account_.took(value, key("cpus"));
                           return {};
                         }},
                        {"memory",
                         [this](const YamlValue& value) -> Status {
                           MR_ASSIGN(role_.resources.memory, value.bytes());
                           account_.took(value, key("memory"));
                           return {};
                         }},
                        {"nvidia.com/gpu", [this](const YamlValue& value) -> Status {
                           MR_ASSIGN(role_.resources.gpus, value.whole_number(0, 1024));
                           account_.took(value, key("gpus"));
                           return {};
                         }}});
  }

  Status read_mounts(const YamlValue& list) {
    MR_ASSIGN(const std::vector<YamlValue> mounts, list.elements());
    for (const YamlValue& mount : mounts) {
      MR_ASSIGN(const auto named, find_field(mount, "name"));
      MR_ASSIGN(const auto path, find_field(mount, "mountPath"));
      if (!named || !path) return mount.refuse("name and mountPath are expected");
      MR_ASSIGN(const std::string name, named->text());
      MR_ASSIGN(const std::string where, path->text());
      const auto claim = claims_.find(name);
      if (claim == claims_.end()) {
        account_.left(mount, str_cat("'", name, "' is no persistentVolumeClaim"));
      } else {
        take_volume(import_, mount.where(), where, claim->second);
      }
      MR_TRY(account_.check());
    }
    return {};
  }

  // What kubernetes_manifests() wrote.
  Status take_join() {
    std::vector<std::string>& words = role_.command;
    if (words.size() < 2 || words[0] != "millrace" || words[1] != "join") return {};
    const auto dashes = std::ranges::find(words, "--");
    if (dashes == words.end()) return {};
    const auto said = [&](std::string_view flag) {
      const auto found = std::find(words.begin(), dashes, flag);
      return found == dashes || found + 1 == dashes ? std::string() : *(found + 1);
    };
    if (const std::string until = said("--until"); !until.empty()) {
      import_.job.until.clear();
      for (size_t begin = 0; begin <= until.size();) {
        const size_t end = std::min(until.find(',', begin), until.size());
        import_.job.until.push_back(until.substr(begin, end - begin));
        begin = end + 1;
      }
    }
    if (const std::string grace = said("--grace"); !grace.empty()) {
      MR_ASSIGN(import_.job.grace, parse_duration(grace));
    }
    if (const std::string role = said("--job"); !role.empty()) role_.name = role;
    words.erase(words.begin(), dashes + 1);
    return {};
  }

  Import& import_;
  ImportAccount& account_;
  RoleSpec& role_;
  const Variables& claims_;  // volume -> claim
  Variables variables_;
};

// --- a pod ---

Result<Variables> read_claims(const YamlValue& list, ImportAccount& account) {
  Variables claims;
  MR_ASSIGN(const std::vector<YamlValue> volumes, list.elements());
  for (const YamlValue& volume : volumes) {
    MR_TRY(account.check());
    MR_ASSIGN(const auto name, find_field(volume, "name"));
    MR_ASSIGN(const auto claim, find_field(volume, "persistentVolumeClaim"));
    if (!name || !claim) {
      account.left(volume, "a job file has claims only (persistentVolumeClaim)");
      continue;
    }
    MR_ASSIGN(const auto claim_name, find_field(*claim, "claimName"));
    if (!claim_name) return claim->refuse("claimName is expected");
    MR_ASSIGN(const std::string key, name->text());
    MR_ASSIGN(claims[key], claim_name->text());
  }
  return claims;
}

Status read_containers(const YamlValue& list, Import& import, RoleSpec& role,
                       const Variables& claims) {
  MR_ASSIGN(const std::vector<YamlValue> containers, list.elements());
  if (containers.empty()) return list.refuse("a pod without a container");
  size_t task = 0;
  for (size_t i = 0; i < containers.size(); ++i) {
    MR_ASSIGN(const auto name, find_field(containers[i], "name"));
    if (!name) continue;
    MR_ASSIGN(const std::string text, name->text());
    if (std::ranges::find(kTaskContainers, text) != std::ranges::end(kTaskContainers)) task = i;
  }
  for (size_t i = 0; i < containers.size(); ++i) {
    if (i != task) import.account.left(containers[i], kAlone);
    MR_TRY(import.account.check());
  }
  return ContainerReader(import, role, claims).read(containers[task]);
}

// As a job file writes it: "gpu=yes:NoSchedule".
Result<Toleration> toleration_of(const YamlValue& value) {
  std::map<std::string, std::string> texts;
  MR_TRY(job_file::put_labels(value, texts));
  std::string text = texts["key"].empty() ? "*" : texts["key"];
  if (texts["operator"] != "Exists") str_append(&text, "=", texts["value"]);
  if (!texts["effect"].empty()) str_append(&text, ":", texts["effect"]);
  if (!texts["tolerationSeconds"].empty())
    str_append(&text, " for ", texts["tolerationSeconds"], "s");
  Result<Toleration> toleration = parse_toleration(text);
  if (!toleration.ok()) return value.refuse(toleration.status().message());
  return toleration;
}

Status read_pull_secrets(const YamlValue& list, std::vector<std::string>& secrets) {
  MR_ASSIGN(const std::vector<YamlValue> entries, list.elements());
  for (const YamlValue& entry : entries) {
    MR_ASSIGN(const auto name, find_field(entry, "name"));
    if (!name) return entry.refuse("name is expected");
    MR_ASSIGN(std::string text, name->text());
    secrets.push_back(std::move(text));
  }
  return {};
}

// One scheduler finds machines for the whole job.
Status read_scheduler(const YamlValue& value, Import& import) {
  MR_ASSIGN(const std::string scheduler, value.text());
  if (scheduler == "default-scheduler") {
    import.account.left(value, "it is the cluster's own");
    return {};
  }
  import.job.kubernetes.scheduler = scheduler;
  import.account.took(value, "kubernetes.scheduler");
  return {};
}

Status read_pod(const YamlValue& pod, Import& import, RoleSpec& role) {
  const std::string wishes = str_cat("roles.", role.name, ".kubernetes.");
  ImportAccount& account = import.account;
  Variables claims;
  return read_fields(
      pod, account,
      {{"volumes",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(claims, read_claims(value, account));
          return {};
        }},
       {"containers",
        [&](const YamlValue& value) { return read_containers(value, import, role, claims); }},
       {"initContainers", leave(account, kAlone)},
       {"tolerations",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(const std::vector<YamlValue> entries, value.elements());
          for (const YamlValue& entry : entries) {
            MR_ASSIGN(Toleration toleration, toleration_of(entry));
            role.kubernetes.tolerations.push_back(std::move(toleration));
          }
          account.took(value, wishes + "tolerations");
          return {};
        }},
       {"imagePullSecrets",
        [&](const YamlValue& value) -> Status {
          MR_TRY(read_pull_secrets(value, role.kubernetes.pull_secrets));
          account.took(value, wishes + "pull_secrets");
          return {};
        }},
       {"priorityClassName", take_text(account, wishes + "priority", role.kubernetes.priority)},
       {"serviceAccountName",
        take_text(account, wishes + "service_account", role.kubernetes.service_account)},
       {"schedulerName", [&](const YamlValue& value) { return read_scheduler(value, import); }},
       {"nodeSelector",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(const auto labels, value.texts());
          role.nodes = {labels.begin(), labels.end()};
          account.took(value, str_cat("roles.", role.name, ".nodes"));
          return {};
        }},
       {"restartPolicy",
        [&](const YamlValue& value) { return read_pod_restart(value, import, role); }},
       {"terminationGracePeriodSeconds",
        [&](const YamlValue& value) -> Status {
          MR_ASSIGN(import.job.grace, value.duration());
          account.took(value, "grace");
          return {};
        }},
       {"subdomain", leave(account, "whoever runs the job makes the tasks' names")}});
}

}  // namespace

Status read_pod_template(const YamlValue& pod_template, Import& import, RoleSpec& role) {
  return read_fields(
      pod_template, import.account,
      {{"metadata", leave(import.account, "whoever runs the job makes labels and annotations")},
       {"spec", [&](const YamlValue& value) { return read_pod(value, import, role); }}});
}

Status read_pod_restart(const YamlValue& value, Import& import, RoleSpec& role) {
  using Kind = RestartPolicy::Cause::Kind;
  MR_ASSIGN(const std::string text, value.text());
  role.restart = {};
  if (text == "OnFailure" || text == "ExitCode" || text == "Always") {
    role.restart.when =
        text == "Always" ? RestartPolicy::When::always : RestartPolicy::When::on_failure;
    if (text == "ExitCode")
      role.restart.causes = {{Kind::signal}, {Kind::out_of_memory}, {Kind::lost}};
  } else if (text != "Never") {
    return value.refuse("'", text.substr(0, 40),
                        "': there are Never, OnFailure, Always and ExitCode");
  }
  import.account.took(value, str_cat("roles.", role.name, ".restart"));
  return {};
}

}  // namespace millrace

#include "millrace/launch/foreign/compose.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/tf_config.h"
#include "millrace/launch/foreign/task_flags.h"

namespace millrace {
namespace {

// "512m", "2gb": compose counts in powers of two whatever the unit is called.
Result<int64_t> compose_bytes(const YamlValue& value) {
  MR_ASSIGN(std::string text, value.text());
  std::string amount = text;
  if (amount.ends_with('b') || amount.ends_with('B')) amount.pop_back();
  if (!amount.empty()) {
    const size_t unit = std::string_view("kmgtKMGT").find(amount.back());
    if (unit != std::string_view::npos) {
      amount.back() = "KMGT"[unit % 4];
      amount += 'i';
    }
  }
  Result<int64_t> bytes = parse_bytes(amount);
  if (!bytes.ok())
    return value.refuse("'", text.substr(0, 40), "' is no amount of memory; write 512m or 2g");
  return bytes;
}

// "$$" is a '$'; what else begins with one, compose takes from the environment of whoever calls.
std::string without_doubles(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    plain += text[i];
    if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '$') ++i;
  }
  return plain;
}

// True for a '$' that is not doubled.
bool has_variable(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') continue;
    if (i + 1 == text.size() || text[i + 1] != '$') return true;
    ++i;
  }
  return false;
}

// "a:b:ro" -> a, b, ro; at least one.
std::vector<std::string> parts_of(std::string_view text, char between) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == between)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

class ServiceReader {
 public:
  ServiceReader(Import& import, const YamlValue::Entry& entry)
      : import_(import), account_(import.account), service_(entry.value) {
    task_.where = service_.where();
    task_.role.name = imported_role_name(entry.key);
  }

  Result<LoneTask> read() {
    const auto words = [this](const YamlValue& value) { return read_command(value); };
    const auto count = [this](const YamlValue& value) -> Status {
      MR_ASSIGN(role().count, value.whole_number(1, kMostTasks));
      account_.took(value, "count");
      return {};
    };
    const auto memory = [this](const YamlValue& value) { return read_memory(value); };
    const auto cpus = [this](const YamlValue& value) { return read_cpus(value); };
    MR_TRY(read_fields(
        service_, account_,
        {{"image", take_text(account_, "image", role().image)},
         {"build", leave(account_, "build the image first, and name it: image")},
         {"entrypoint", words},
         {"command", words},
         {"environment", [this](const YamlValue& value) { return read_environment(value); }},
         {"env_file", leave(account_, "write what it sets into env")},
         {"working_dir",
          [this](const YamlValue& value) -> Status {
            MR_ASSIGN(const std::string directory, value.text());
            take_directory(import_, value.where(), directory);
            return {};
          }},
         {"volumes", [this](const YamlValue& value) { return read_volumes(value); }},
         {"scale", count},
         {"mem_limit", memory},
         {"cpus", cpus},
         {"restart", [this](const YamlValue& value) { return read_restart(value); }},
         {"stop_grace_period",
          [this](const YamlValue& value) -> Status {
            MR_ASSIGN(import_.job.grace, value.duration());
            account_.took(value, "grace");
            return {};
          }},
         {"deploy",
          [&](const YamlValue& value) {
            const auto resources = [&](const YamlValue& given) {
              const auto amounts = [&](const YamlValue& limits) {
                return read_fields(
                    limits, account_,
                    {{"cpus", cpus}, {"memory", memory}, {"devices", [this](const YamlValue& list) {
                                                            return read_devices(list);
                                                          }}});
              };
              return read_fields(given, account_, {{"reservations", amounts}, {"limits", amounts}});
            };
            return read_fields(value, account_,
                               {{"replicas", count},
                                {"resources", resources},
                                {"restart_policy", [this](const YamlValue& policy) {
                                   return read_restart_policy(policy);
                                 }}});
          }},
         {"depends_on", leave(account_, "tasks begin in any order and wait for each other")},
         {"ports", leave(account_, "every task gets a port of its own, and tells the others")},
         {"expose", leave(account_, "every task gets a port of its own, and tells the others")},
         {"networks", leave(account_, "tasks reach each other wherever they run")},
         {"hostname", leave(account_, "tasks are called by role and index")},
         {"container_name", leave(account_, "tasks are called by role and index")}}));
    const ToldTask flags = take_identity(role().command);
    if (task_.identity.job.empty()) task_.identity = flags;
    return std::move(task_);
  }

 private:
  RoleSpec& role() { return task_.role; }

  // The entry point comes first: compose runs both as one command.
  Status read_command(const YamlValue& value) {
    MR_ASSIGN(const std::vector<std::string> words, value.words());
    account_.took(value, "command");
    for (const std::string& word : words) {
      role().command.push_back(without_doubles(word));
      tell_of_variables(value, word);
    }
    return {};
  }

  void tell_of_variables(const YamlValue& value, const std::string& text) {
    if (has_variable(text))
      account_.left(value, str_cat("what compose puts in for '", text.substr(0, 80),
                                   "': nothing does so here"));
  }

  Status read_environment(const YamlValue& value) {
    if (value.is_map()) {
      MR_ASSIGN(const std::vector<YamlValue::Entry> entries, value.entries());
      for (const YamlValue::Entry& entry : entries) {
        std::optional<std::string> text;
        if (entry.value.is_text()) {
          MR_ASSIGN(text, entry.value.text());
        }
        MR_TRY(read_variable(entry.value, entry.key, text));
      }
      return {};
    }
    MR_ASSIGN(const std::vector<YamlValue> lines, value.elements());
    for (const YamlValue& line : lines) {
      MR_ASSIGN(const std::string text, line.text());
      const size_t equals = text.find('=');
      MR_TRY(read_variable(
          line, text.substr(0, equals),
          equals == text.npos ? std::nullopt : std::optional(text.substr(equals + 1))));
    }
    return {};
  }

  // Without a text, compose takes it from the environment of whoever calls.
  Status read_variable(const YamlValue& value, const std::string& name,
                       const std::optional<std::string>& text) {
    if (!text) {
      account_.left(value, str_cat(name.substr(0, 80),
                                   ": its text stands in nobody's file; write it into env"));
      return account_.check();
    }
    tell_of_variables(value, *text);
    const std::string plain = without_doubles(*text);
    if (name == kTaskVariable) {
      Result<TfConfig> config = TfConfig::parse(plain);
      if (!config.ok()) return value.refuse(config.status().message());
      task_.identity = {.job = config->task_type, .index = config->task_index};
    }
    take_variable(import_, value.where(), "env", role().environment, name, plain);
    return account_.check();
  }

  Status read_volumes(const YamlValue& list) {
    MR_ASSIGN(const std::vector<YamlValue> volumes, list.elements());
    for (const YamlValue& volume : volumes) {
      std::string which;
      std::string where;
      if (volume.is_map()) {
        MR_ASSIGN(const auto source, find_field(volume, "source"));
        MR_ASSIGN(const auto target, find_field(volume, "target"));
        if (!target) return volume.refuse("a volume without a target");
        if (source) {
          MR_ASSIGN(which, source->text());
        }
        MR_ASSIGN(where, target->text());
      } else {
        MR_ASSIGN(const std::string text, volume.text());
        const std::vector<std::string> parts = parts_of(text, ':');
        which = parts.size() > 1 ? parts[0] : "";
        where = parts.size() > 1 ? parts[1] : parts[0];
      }
      if (which.empty() || where.empty()) {
        account_.left(volume, "a volume that nobody else sees goes with its task");
      } else {
        take_volume(import_, volume.where(), where, which);
      }
      MR_TRY(account_.check());
    }
    return {};
  }

  Status read_memory(const YamlValue& value) {
    MR_ASSIGN(role().resources.memory, compose_bytes(value));
    account_.took(value, "memory");
    return {};
  }

  Status read_cpus(const YamlValue& value) {
    MR_ASSIGN(role().resources.cpus, value.amount());
    account_.took(value, "cpus");
    return {};
  }

  Status read_devices(const YamlValue& list) {
    MR_ASSIGN(const std::vector<YamlValue> devices, list.elements());
    for (const YamlValue& device : devices)
      MR_TRY(read_fields(device, account_,
                         {{"driver", leave(account_, "GPUs are of one kind")},
                          {"capabilities", leave(account_, "GPUs are of one kind")},
                          {"count", [this](const YamlValue& value) -> Status {
                             MR_ASSIGN(role().resources.gpus, value.whole_number(0, 1024));
                             account_.took(value, "gpus");
                             return {};
                           }}}));
    return {};
  }

  // "no", "always", "unless-stopped", "on-failure", "on-failure:5".
  Status read_restart(const YamlValue& value) {
    MR_ASSIGN(const std::string text, value.text());
    const size_t colon = std::min(text.find(':'), text.size());
    const std::string_view how = std::string_view(text).substr(0, colon);
    using When = RestartPolicy::When;
    if (how == "on-failure") {
      role().restart.when = When::on_failure;
      if (colon < text.size()) {
        Result<RestartPolicy::Budget> most = parse_budget(text.substr(colon + 1));
        if (!most.ok()) return value.refuse(most.status().message());
        if (most->restarts == 0) role().restart.when = When::never;
        role().restart.attempts = most->restarts + 1;
        role().restart.budget = {.restarts = kMostRestarts, .window = std::nullopt};
      }
    } else if (how == "always" || how == "unless-stopped") {
      role().restart.when = When::always;
    } else if (how != "no" && how != "false") {
      return value.refuse("'", text.substr(0, 40),
                          "': there are no, on-failure, always and unless-stopped");
    }
    if (role().restart.when == When::never) role().restart = {};
    account_.took(value, "restart");
    return {};
  }

  Status read_restart_policy(const YamlValue& policy) {
    using When = RestartPolicy::When;
    return read_fields(policy, account_,
                       {{"condition",
                         [this](const YamlValue& value) -> Status {
                           MR_ASSIGN(const std::string text, value.text());
                           role().restart.when = text == "none"         ? When::never
                                                 : text == "on-failure" ? When::on_failure
                                                                        : When::always;
                           account_.took(value, "restart");
                           return {};
                         }},
                        {"max_attempts", [this](const YamlValue& value) -> Status {
                           MR_ASSIGN(const int most, value.whole_number(1, kMostRestarts));
                           role().restart.attempts = most;
                           account_.took(value, "restart.attempts");
                           return {};
                         }}});
  }

  Import& import_;
  ImportAccount& account_;
  const YamlValue& service_;
  LoneTask task_;
};

}  // namespace

bool is_compose_file(const YamlValue& document) {
  if (!document.is_map()) return false;
  const auto services = find_field(document, "services");
  return services.ok() && *services && (*services)->is_map();
}

Status import_compose_file(const YamlValue& document, Import& import) {
  ImportAccount& account = import.account;
  const auto read_services = [&](const YamlValue& services) -> Status {
    MR_ASSIGN(const std::vector<YamlValue::Entry> entries, services.entries());
    std::vector<LoneTask> tasks;
    for (const YamlValue::Entry& entry : entries) {
      MR_ASSIGN(LoneTask task, ServiceReader(import, entry).read());
      tasks.push_back(std::move(task));
      MR_TRY(account.check());
    }
    return gather_tasks(std::move(tasks), import);
  };
  return read_fields(document, account,
                     {{"name",
                       [&](const YamlValue& value) -> Status {
                         MR_ASSIGN(const std::string name, value.text());
                         import.job.name = imported_job_name(name);
                         account.took(value, "name");
                         return {};
                       }},
                      {"version", leave(account, "how compose reads the rest")},
                      {"services", read_services},
                      {"volumes", leave(account, "what tasks mount is told by their services")},
                      {"networks", leave(account, "tasks reach each other wherever they run")}});
}

}  // namespace millrace

#include "millrace/launch/foreign/import_account.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/cluster_spec.h"
#include "millrace/cluster/environment.h"

namespace millrace {
namespace {

constexpr std::string_view kNoKey = "no key of a job file says this";
constexpr size_t kLongestJobName = 40;

// "job.yaml:7: spec" -> job.yaml, 7; without a line, 0.
std::pair<std::string_view, int> place_of(std::string_view where) {
  for (size_t colon = where.find(':'); colon != where.npos; colon = where.find(':', colon + 1)) {
    const std::string_view rest = where.substr(colon + 1);
    int line = 0;
    const auto [stop, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), line);
    const bool ends = stop == rest.data() + rest.size() || *stop == ':' || *stop == ',';
    if (fault == std::errc() && line > 0 && ends) return {where.substr(0, colon), line};
  }
  return {where, 0};
}

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

void ImportAccount::took(std::string_view where, std::string_view as) {
  lines_.push_back({std::string(where), str_cat("took  ", where, ": ", as)});
}

void ImportAccount::left(std::string_view where, std::string_view why) {
  lines_.push_back({std::string(where), str_cat("left  ", where, ": ", why)});
}

Status ImportAccount::check() const {
  if (lines_.size() <= kMostLines) return {};
  return invalid("more than ", kMostLines, " values: this is no description of a job; the last: ",
                 lines_.back().text.substr(0, 200));
}

std::vector<std::string> ImportAccount::lines() const {
  std::vector<std::string> files;
  std::vector<std::tuple<size_t, int, size_t>> order;  // file, line, when it was told
  for (size_t i = 0; i < lines_.size(); ++i) {
    const auto [file, line] = place_of(lines_[i].where);
    auto known = std::ranges::find(files, file);
    if (line > 0 && known == files.end()) known = files.insert(files.end(), std::string(file));
    order.emplace_back(line > 0 ? known - files.begin() : lines_.size(), line, i);
  }
  std::ranges::sort(order);
  std::vector<std::string> texts;
  for (const auto& [file, line, i] : order) texts.push_back(lines_[i].text);
  return texts;
}

std::function<Status(const YamlValue&)> leave(ImportAccount& account, std::string_view why) {
  return [&account, why = std::string(why)](const YamlValue& value) {
    account.left(value, why);
    return Status();
  };
}

std::function<Status(const YamlValue&)> take_text(ImportAccount& account, std::string_view as,
                                                  std::string& place) {
  return [&account, as = std::string(as), &place](const YamlValue& value) -> Status {
    MR_ASSIGN(place, value.text());
    account.took(value, as);
    return {};
  };
}

Status read_fields(const YamlValue& map, ImportAccount& account,
                   const std::vector<FieldReader>& readers) {
  MR_ASSIGN(const std::vector<YamlValue::Entry> entries, map.entries());
  for (const FieldReader& reader : readers) {
    const auto entry = std::ranges::find(entries, reader.key, &YamlValue::Entry::key);
    if (entry == entries.end()) continue;
    MR_TRY(reader.read(entry->value));
    MR_TRY(account.check());
  }
  for (const YamlValue::Entry& entry : entries) {
    if (std::ranges::find(readers, entry.key, &FieldReader::key) != readers.end()) continue;
    account.left(entry.value, kNoKey);
    MR_TRY(account.check());
  }
  return {};
}

Result<std::optional<YamlValue>> find_field(const YamlValue& map, std::string_view key) {
  MR_ASSIGN(std::vector<YamlValue::Entry> entries, map.entries());
  const auto entry = std::ranges::find(entries, key, &YamlValue::Entry::key);
  if (entry == entries.end()) return std::optional<YamlValue>();
  return std::optional<YamlValue>(std::move(entry->value));
}

std::string imported_role_name(std::string_view name) {
  std::string ours;
  for (const char c : name.substr(0, 63)) {
    const char letter = lower_letter(c);
    const bool fits = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    ours += fits ? letter : '_';
  }
  ours.erase(0, std::min(ours.find_first_of("abcdefghijklmnopqrstuvwxyz"), ours.size()));
  return ours;
}

std::string imported_job_name(std::string_view name) {
  std::string ours = imported_role_name(name);
  std::ranges::replace(ours, '_', '-');
  ours.resize(std::min(ours.size(), kLongestJobName));
  ours.resize(ours.find_last_not_of('-') + 1);
  return ours;
}

Result<RoleSpec*> new_role(Import& import, const YamlValue& value, std::string_view name) {
  RoleSpec role{.name = imported_role_name(name)};
  if (role.name.empty())
    return value.refuse("'", name.substr(0, 40), "' has no letter for the name of a role");
  if (std::ranges::find(import.job.roles, role.name, &RoleSpec::name) != import.job.roles.end())
    return value.refuse("there is a role '", role.name, "' already");
  if (import.job.roles.size() >= static_cast<size_t>(kMostTasks))
    return value.refuse("more than ", kMostTasks, " roles");
  return &import.job.roles.emplace_back(std::move(role));
}

void take_variable(Import& import, std::string_view where, std::string_view key,
                   std::vector<EnvironmentEntry>& environment, const std::string& name,
                   const std::string& value) {
  const bool is_usual = name == kReportFileVariable || (name == "PYTHONUNBUFFERED" && value == "1");
  if (is_set_by_launchers(name) || is_usual) {
    import.account.left(where, "the launcher tells every task its own");
    return;
  }
  // What environment_of() makes of these keys.
  if (name == "MILLRACE_ONCE" && value == "1") {
    import.job.once = true;
    import.account.took(where, "once");
    return;
  }
  if (name == "MILLRACE_STATE" && (import.job.state.empty() || import.job.state == value)) {
    import.job.state = value;
    import.account.took(where, "state");
    return;
  }
  environment.emplace_back(name, value);
  import.account.took(where, str_cat(key, ".", name));
}

void take_volume(Import& import, std::string_view place, const std::string& where,
                 const std::string& which) {
  const auto [known, is_new] = import.job.volumes.emplace(where, which);
  if (is_new || known->second == which) {
    import.account.took(place, str_cat("volumes.", where));
  } else {
    import.account.left(place, str_cat("all tasks of a job see the same storage, and ", where,
                                       " is '", known->second, "' for another role"));
  }
}

void take_directory(Import& import, std::string_view place, const std::string& directory) {
  if (import.job.directory.empty()) import.job.directory = directory;
  if (import.job.directory == directory) {
    import.account.took(place, "directory");
  } else {
    import.account.left(place, str_cat("the tasks of a job have one directory, and another role's "
                                       "is '",
                                       import.job.directory, "'; let the command change it"));
  }
}

void share_what_is_alike(JobSpec& job) {
  if (job.roles.empty()) return;
  const RoleSpec first = job.roles[0];
  const auto all_have = [&](auto RoleSpec::*part) {
    return std::ranges::all_of(job.roles,
                               [&](const RoleSpec& role) { return role.*part == first.*part; });
  };
  if (job.command.empty() && all_have(&RoleSpec::command)) {
    job.command = first.command;
    for (RoleSpec& role : job.roles) role.command.clear();
  }
  if (job.image.empty() && all_have(&RoleSpec::image)) {
    job.image = first.image;
    for (RoleSpec& role : job.roles) role.image.clear();
  }
}

}  // namespace millrace

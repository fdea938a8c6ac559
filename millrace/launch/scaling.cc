#include "millrace/launch/scaling.h"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/nearest_name.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShown = 80;  // of a word that makes no sense

std::string no_such_role(const JobSpec& job, const std::string& name) {
  std::vector<std::string_view> names;
  std::string list;
  for (const RoleSpec& role : job.roles) {
    names.push_back(role.name);
    str_append(&list, list.empty() ? "" : ", ", role.name);
  }
  const std::string_view near = nearest_name(name, names);
  return str_cat("the job has no role '", name.substr(0, kShown), "'",
                 near.empty() ? "" : str_cat("; did you mean '", near, "'?"),
                 "; there are: ", list);
}

Status check_count(const RoleSpec& role, int count) {
  if (!scales(role))
    return invalid("role ", role.name, " has ", role.count, role.count == 1 ? " task" : " tasks",
                   " from end to end: its job file says neither min nor max. Stop the job and "
                   "submit it with  ",
                   role.name, ": {count: ", role.count, ", max: ", std::max(count, role.count),
                   "}");
  if (count >= least_of(role) && count <= most_of(role)) return {};
  return invalid("role ", role.name, " may have ", least_of(role), " to ", most_of(role),
                 " tasks, as its job file says, and not ", count,
                 "; for others, stop the job and submit it with another ",
                 count < least_of(role) ? "min" : "max");
}

}  // namespace

std::string to_line(const ScaleWish& wish) {
  Json json = {{"wish", wish.id}, {"by", wish.by}, {"counts", Json::object()}};
  for (const auto& [role, count] : wish.counts) json["counts"][role] = count;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<ScaleWish> parse_scale_wish(std::string_view line) {
  if (line.size() > kLongestWish) return {};
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return {};
  const auto id = json.find("wish");
  const auto by = json.find("by");
  const auto counts = json.find("counts");
  if (id == json.end() || !id->is_string() || counts == json.end() || !counts->is_object())
    return {};
  ScaleWish wish{.id = id->get<std::string>()};
  if (by != json.end() && by->is_string()) wish.by = by->get<std::string>();
  for (const auto& [role, count] : counts->items()) {
    if (!count.is_number_unsigned() || count.get<uint64_t>() > kMostTasks) return {};
    wish.counts.emplace_back(role, count.get<int>());
  }
  return wish;
}

Result<RoleCount> parse_role_count(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view number = equals == text.npos ? "" : text.substr(equals + 1);
  int count = 0;
  const char* end = number.data() + number.size();
  const auto [stop, fault] = std::from_chars(number.data(), end, count);
  if (equals == 0 || fault != std::errc() || stop != end)
    return invalid("'", text.substr(0, kShown),
                   "': write ROLE=COUNT, for example map=4, for a role of the job");
  if (count >= 1) return RoleCount(text.substr(0, equals), count);
  return invalid("'", text.substr(0, kShown),
                 "': a role has at least one task; `millrace stop` ends the whole job");
}

Status check_scaling(const JobSpec& job, const std::vector<RoleCount>& counts) {
  if (counts.empty()) return invalid("nothing to scale; write ROLE=COUNT, for example map=4");
  for (auto it = counts.begin(); it != counts.end(); ++it) {
    const std::string& name = it->first;
    const auto role = std::ranges::find(job.roles, name, &RoleSpec::name);
    if (role == job.roles.end()) return invalid(no_such_role(job, name));
    const bool again = std::any_of(counts.begin(), it,
                                   [&](const RoleCount& other) { return other.first == name; });
    if (again) return invalid("role ", name, " is given twice");
    MR_TRY(check_count(*role, it->second));
  }
  return {};
}

std::optional<Status> answer_to(const std::string& wish, const Journal& journal) {
  for (const JournalEntry& entry : journal.entries) {
    if (const auto* event = std::get_if<SupervisionEvent>(&entry.what)) {
      const auto* scaled = std::get_if<RoleScaled>(event);
      if (scaled != nullptr && scaled->wish == wish) return Status();
    }
    const auto* refused = std::get_if<WishRefused>(&entry.what);
    if (refused != nullptr && refused->wish == wish)
      return failed_precondition("its launcher refuses: ", refused->why);
  }
  return {};
}

}  // namespace millrace

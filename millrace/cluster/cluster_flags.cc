#include "millrace/cluster/cluster_flags.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace millrace {
namespace {

constexpr std::string_view kHosts = "_hosts";

struct Flag {
  std::string name;  // without "--", with underscores
  std::string value;
};

bool names_hosts(std::string_view flag) {
  return flag.size() > kHosts.size() && flag.ends_with(kHosts);
}

bool is_known(std::string_view flag) {
  return flag == "job_name" || flag == "task_index" || names_hosts(flag);
}

std::string allowed_flags(std::string_view others) {
  return str_cat("; allowed: --<job>_hosts=host:port,…, --job_name, --task_index",
                 others.empty() ? "" : ", ", others);
}

Result<std::vector<Flag>> split_flags(std::span<const std::string> texts, std::string_view others) {
  std::vector<Flag> flags;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string& text = texts[i];
    if (!text.starts_with("--") || text.size() == 2)
      return invalid("'", text.substr(0, 80), "' is no flag", allowed_flags(others));
    size_t equals = text.find('=');
    Flag flag{.name = text.substr(2, equals == std::string::npos ? equals : equals - 2),
              .value = ""};
    std::replace(flag.name.begin(), flag.name.end(), '-', '_');
    if (!is_known(flag.name))
      return invalid("unknown flag ", text.substr(0, std::min<size_t>(equals, 80)),
                     allowed_flags(others));
    if (equals != std::string::npos) {
      flag.value = text.substr(equals + 1);
    } else if (i + 1 < texts.size() && !texts[i + 1].starts_with("--")) {
      flag.value = texts[++i];
    } else {
      return invalid("--", flag.name, " has no value; write --", flag.name, "=…");
    }
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::vector<std::string> split_hosts(std::string_view list) {
  std::vector<std::string> hosts;
  if (list.empty()) return hosts;
  size_t begin = 0;
  for (size_t comma; (comma = list.find(',', begin)) != std::string_view::npos; begin = comma + 1)
    hosts.emplace_back(list.substr(begin, comma - begin));
  hosts.emplace_back(list.substr(begin));
  return hosts;
}

Status read_flag(const Flag& flag, TfConfig* config) {
  if (flag.name == "job_name") {
    if (!config->task_type.empty()) return invalid("--job_name is given twice");
    if (!is_job_name(flag.value))
      return invalid("--job_name=", flag.value.substr(0, 80),
                     " is not a job name; allowed: a letter, ",
                     "then letters, digits and underscores");
    config->task_type = flag.value;
    return {};
  }
  if (flag.name == "task_index") {
    if (config->task_index) return invalid("--task_index is given twice");
    int index = -1;
    const char* end = flag.value.data() + flag.value.size();
    auto [stop, fault] = std::from_chars(flag.value.data(), end, index);
    if (fault != std::errc() || stop != end || index < 0)
      return invalid("--task_index=", flag.value.substr(0, 80), "; allowed: a number from 0 to ",
                     std::numeric_limits<int>::max());
    config->task_index = index;
    return {};
  }
  std::string job = flag.name.substr(0, flag.name.size() - kHosts.size());
  if (config->cluster.has_job(job)) return invalid("--", flag.name, " is given twice");
  return config->cluster.add_job(job, split_hosts(flag.value)).with(str_cat("--", flag.name));
}

}  // namespace

Result<TfConfig> read_cluster_flags(std::span<const std::string> texts, std::string_view others) {
  MR_ASSIGN(std::vector<Flag> flags, split_flags(texts, others));
  TfConfig config;
  for (const Flag& flag : flags) MR_TRY(read_flag(flag, &config));
  for (std::string& line : config.cluster.shared_addresses())
    config.notes.push_back(std::move(line));
  return config;
}

}  // namespace millrace

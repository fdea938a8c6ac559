#include "millrace/cluster/tf_config.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/cluster/json_text.h"

namespace millrace {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kExample =
    R"({"cluster": {"ps": ["localhost:2222"], "worker": ["localhost:2223"]}, )"
    R"("task": {"type": "worker", "index": 0}})";
constexpr std::string_view kClusterExample =
    R"("cluster": {"ps": ["localhost:2222"], "worker": ["localhost:2223", "localhost:2224"]})";
constexpr std::string_view kTaskExample = R"("task": {"type": "worker", "index": 0})";

Status misfit(std::string_view path, const ordered_json& found, std::string_view allowed,
              std::string_view example) {
  return invalid(path, ": found ", describe_json(found), "; allowed: ", allowed,
                 "; for example: ", example);
}

constexpr int kHighestIndex = 999'999'999;
constexpr size_t kMostDigits = 9;

// The index that a key or a string spells; nothing if it is none.
std::optional<int> index_of(std::string_view digits) {
  bool numeric =
      !digits.empty() && digits.size() <= kMostDigits &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!numeric) return {};
  return std::stoi(std::string(digits));
}

// `"worker": ["a:1", "b:2"]` from the string "a:1, b:2" that stood in place of a list.
std::string as_job_list(const std::string& job, std::string_view text) {
  std::string list;
  for (size_t begin = 0; begin <= text.size();) {
    size_t comma = std::min(text.find(',', begin), text.size());
    std::string_view item = text.substr(begin, comma - begin);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    str_append(&list, list.empty() ? "" : ", ", json_quoted(item));
    begin = comma + 1;
  }
  return str_cat(json_quoted(job), ": [", list, "]");
}

Result<std::string> read_address(const ordered_json& value, const std::string& path) {
  if (!value.is_string())
    return misfit(path, value, "a string \"host:port\"", "\"localhost:2222\"");
  return value.get<std::string>();
}

Status add_task(ClusterSpec& cluster, const std::string& job, int index, const ordered_json& value,
                const std::string& path) {
  MR_ASSIGN(std::string address, read_address(value, path));
  Status added = cluster.add_task(job, index, address);
  if (added.ok()) return {};
  return misfit(path, value, "\"host:port\"", "\"localhost:2222\"")
      .then(str_cat(" (", added.message(), ")"));
}

Status read_dense_job(ClusterSpec& cluster, const std::string& job, const ordered_json& list,
                      const std::string& path) {
  MR_TRY(cluster.add_job(job, {}));
  for (size_t i = 0; i < list.size(); ++i)
    MR_TRY(add_task(cluster, job, static_cast<int>(i), list[i], json_element(path, i)));
  return {};
}

Status read_sparse_job(ClusterSpec& cluster, const std::string& job, const ordered_json& tasks,
                       const std::string& path) {
  MR_TRY(cluster.add_job(job, {}));
  for (const auto& [key, value] : tasks.items()) {
    std::string entry = str_cat(path, "[", json_quoted(key.substr(0, 40)), "]");
    std::optional<int> index = index_of(key);
    if (!index)
      return invalid(entry, ": found the task index ", json_quoted(key.substr(0, 40)),
                     "; allowed: a string of digits, \"0\" to \"", kHighestIndex,
                     "\"; for example: ", json_quoted(job), R"(: {"3": "localhost:2222"})");
    MR_TRY(add_task(cluster, job, *index, value, entry));
  }
  return {};
}

Status read_job(ClusterSpec& cluster, const std::string& job, const ordered_json& tasks,
                const std::string& path) {
  if (!is_job_name(job))
    return invalid(path, ": found the job name ", json_quoted(job.substr(0, 60)),
                   "; allowed: a letter, then letters, digits and underscores; for example: ",
                   kClusterExample);
  if (tasks.is_array()) return read_dense_job(cluster, job, tasks, path);
  if (tasks.is_object()) return read_sparse_job(cluster, job, tasks, path);
  std::string text = tasks.is_string() ? tasks.get<std::string>() : "localhost:2222";
  return misfit(path, tasks, "a list of addresses, or an object {index: address}",
                as_job_list(job, text.substr(0, 200)));
}

Result<ClusterSpec> read_cluster(const ordered_json& jobs, const std::string& path) {
  if (!jobs.is_object()) return misfit(path, jobs, "an object {job: [addresses]}", kClusterExample);
  ClusterSpec cluster;
  for (const auto& [job, tasks] : jobs.items())
    MR_TRY(read_job(cluster, job, tasks, json_member(path, job)));
  return cluster;
}

Status read_string(const ordered_json& value, const std::string& path, std::string* text) {
  if (value.is_null()) return {};
  if (!value.is_string())
    return misfit(path, value, "a string", str_cat(path.substr(2), ": \"…\""));
  *text = value.get<std::string>();
  return {};
}

Status read_index(const ordered_json& value, std::optional<int>* index) {
  if (value.is_null()) return {};
  if (value.is_number_integer() || value.is_number_unsigned()) *index = index_of(value.dump());
  if (value.is_string()) *index = index_of(value.get_ref<const std::string&>());
  if (index->has_value()) return {};
  return misfit("$.task.index", value, str_cat("a number from 0 to ", kHighestIndex), kTaskExample);
}

void note_unknown(TfConfig* config, std::string_view path, std::string_view key,
                  std::string_view known) {
  config->notes.push_back(str_cat(json_member(path, key), " is not read; known here: ", known));
}

Status read_task(const ordered_json& task, TfConfig* config) {
  if (task.is_null()) return {};
  if (!task.is_object())
    return misfit("$.task", task, "an object with \"type\" and \"index\"", kTaskExample);
  for (const auto& [key, value] : task.items()) {
    if (key == "type") {
      MR_TRY(read_string(value, "$.task.type", &config->task_type));
    } else if (key == "index") {
      MR_TRY(read_index(value, &config->task_index));
    } else {
      note_unknown(config, "$.task", key, "type, index");
    }
  }
  return {};
}

Status read_member(const std::string& key, const ordered_json& value, TfConfig* config) {
  if (key == "task") return read_task(value, config);
  if (key == "environment") return read_string(value, "$.environment", &config->environment);
  if (key == "master") return read_string(value, "$.master", &config->master);
  if (key == "model_dir") return read_string(value, "$.model_dir", &config->model_dir);
  if (key == "cluster" || key == "sparseCluster") {
    if (value.is_null()) return {};
    if (!config->cluster.empty())
      return invalid("$.", key, ": the cluster is given twice, as cluster and as sparseCluster; ",
                     "keep one of them");
    MR_ASSIGN(config->cluster, read_cluster(value, str_cat("$.", key)));
    return {};
  }
  note_unknown(config, "$", key, "cluster, task, environment, master, model_dir");
  return {};
}

void note_shared_addresses(TfConfig* config) {
  for (std::string& line : config->cluster.shared_addresses())
    config->notes.push_back(str_cat("$.cluster: ", line));
}

Result<TfConfig> read_config(const ordered_json& root) {
  if (!root.is_object())
    return misfit("$", root, "an object with \"cluster\" and \"task\"", kExample);
  TfConfig config;
  for (const auto& [key, value] : root.items()) MR_TRY(read_member(key, value, &config));
  note_shared_addresses(&config);
  return config;
}

bool is_sparse_job(const ordered_json& value) {
  if (!value.is_object() || value.empty()) return false;
  for (const auto& [key, address] : value.items())
    if (!index_of(key)) return false;
  return true;
}

// A job may be named "cluster" or "task", so the values decide, not the keys alone.
bool is_whole_config(const ordered_json& root) {
  if (!root.is_object()) return false;
  for (const char* key : {"cluster", "sparseCluster", "task"}) {
    auto it = root.find(key);
    if (it != root.end() && it->is_object() && !is_sparse_job(*it)) return true;
  }
  return false;
}

ordered_json tasks_json(const ClusterSpec::Tasks& tasks) {
  bool dense = tasks.empty() || (tasks.begin()->first == 0 &&
                                 tasks.rbegin()->first == static_cast<int>(tasks.size()) - 1);
  ordered_json json = dense ? ordered_json::array() : ordered_json::object();
  for (const auto& [index, address] : tasks) {
    if (dense) {
      json.push_back(address);
    } else {
      json[std::to_string(index)] = address;
    }
  }
  return json;
}

}  // namespace

Result<TfConfig> TfConfig::parse(std::string_view json) {
  auto root = parse_json(json);
  if (!root.ok()) return root.status().then(str_cat("; for example: ", kExample)).with("TF_CONFIG");
  return read_config(*root).with("TF_CONFIG");
}

Result<TfConfig> TfConfig::from_environment(const char* value) {
  std::string_view text = value == nullptr ? "" : value;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return TfConfig{};
  return parse(text);
}

Result<TfConfig> TfConfig::parse_cluster_file(std::string_view json, std::string_view file) {
  auto root = parse_json(json);
  if (!root.ok())
    return root.status().then(str_cat("; for example: {", kClusterExample, "}")).with(file);
  if (is_whole_config(*root)) return read_config(*root).with(file);
  auto cluster = read_cluster(*root, "$");
  if (!cluster.ok()) return cluster.status().with(file);
  TfConfig config;
  config.cluster = std::move(*cluster);
  note_shared_addresses(&config);
  return config;
}

std::string to_json(const TfConfig& config, JsonLayout layout) {
  ordered_json root = ordered_json::object();
  ordered_json& cluster = root["cluster"] = ordered_json::object();
  for (const auto& [job, tasks] : config.cluster.jobs()) cluster[job] = tasks_json(tasks);
  if (!config.task_type.empty() || config.task_index) {
    ordered_json& task = root["task"] = ordered_json::object();
    if (!config.task_type.empty()) task["type"] = config.task_type;
    if (config.task_index) task["index"] = *config.task_index;
  }
  if (config.environment != TfConfig{}.environment) root["environment"] = config.environment;
  if (!config.master.empty()) root["master"] = config.master;
  if (!config.model_dir.empty()) root["model_dir"] = config.model_dir;
  int indent = layout == JsonLayout::indented ? 2 : -1;
  return root.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

TfConfigTexts::TfConfigTexts(const ClusterSpec& cluster) {
  ordered_json json = ordered_json::object();
  for (const auto& [job, tasks] : cluster.jobs()) json[job] = tasks_json(tasks);
  cluster_ = json.dump();
}

std::string TfConfigTexts::of(const TaskName& task) const {
  // The name of a job has letters and digits alone (cluster_spec.h).
  return str_cat(R"({"cluster":)", cluster_, R"(,"task":{"type":")", task.job, R"(","index":)",
                 task.task, "}}");
}

}  // namespace millrace

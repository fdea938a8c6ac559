#include "millrace/launch/foreign/task_words.h"

#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/tf_config.h"
#include "millrace/launch/placeholders.h"
#include "millrace/launch/secrets.h"

namespace millrace {
namespace {

constexpr std::string_view kIndexPlaceholder = "{task_index}";
// In place of an index that is a text of others, while JSON is made.
constexpr int kStandIn = 0;

}  // namespace

Result<ClusterSpec> exported_cluster(
    const JobSpec& job, const std::function<std::string(const RoleSpec&, int index)>& address) {
  ClusterSpec cluster;
  for (const RoleSpec& role : job.roles) {
    std::vector<std::string> addresses;
    for (int index = 0; index < role.count; ++index) addresses.push_back(address(role, index));
    MR_TRY(cluster.add_job(role.name, addresses));
  }
  return cluster;
}

std::vector<std::string> exported_command(const JobSpec& job, const RoleSpec& role,
                                          const ClusterSpec& cluster, std::string_view index,
                                          const std::function<std::string(std::string)>& escaped) {
  std::vector<std::string> words;
  for (const std::string& word : command_of(job, role)) {
    std::string text = escaped(word);
    for (size_t at = text.find(kIndexPlaceholder); at != text.npos;
         at = text.find(kIndexPlaceholder, at + index.size()))
      text.replace(at, kIndexPlaceholder.size(), index);
    words.push_back(std::move(text));
  }
  return with_placeholders(words, cluster, TaskName{.job = role.name, .task = kStandIn});
}

std::string exported_config(const ClusterSpec& cluster, const RoleSpec& role,
                            std::string_view index) {
  TfConfig config;
  config.cluster = cluster;
  const std::string json = to_json(config, JsonLayout::one_line);
  // {"cluster":{...}}: the task goes before the last brace.
  return str_cat(std::string_view(json).substr(0, json.size() - 1), R"(,"task":{"type":")",
                 role.name, R"(","index":)", index, "}}");
}

Status check_export(const JobSpec& job, std::string_view format) {
  MR_TRY(check(job));
  if (is_submitted_name(job.name)) return {};
  return invalid("a ", format, " has a name; give the job one: ", kSubmittedNameRule);
}

Status check_exported_secrets(const JobSpec& job, std::string_view format, SecretWords words) {
  for (const RoleSecret& secret : secrets_of(job)) {
    const bool is_of_cluster = secret.source.kind == SecretSource::Kind::kubernetes;
    if (is_of_cluster && words == SecretWords::of_cluster) continue;
    if (words == SecretWords::of_cluster)
      return invalid("secrets.", secret.key, ": a ", format, " names Secrets of the cluster, and ",
                     "this is of the ", to_text(secret.source),
                     "; make a Secret of it, and write {kubernetes: NAME/KEY}");
    return invalid("secrets.", secret.key, ": a ", format,
                   " has no secrets by reference; leave it ", "out, and add it there by hand");
  }
  return {};
}

void note_wishes(const JobSpec& job, ExportedJob& exported) {
  if (job.kubernetes != KubernetesWishes())
    exported.notes.push_back("kubernetes: it is for millrace's own objects; add it there by hand");
  for (const RoleSpec& role : job.roles) {
    const std::string key = str_cat("roles.", role.name, ".");
    if (role.kubernetes != KubernetesWishes())
      exported.notes.push_back(
          str_cat(key, "kubernetes: it is for millrace's own objects; add it there by hand"));
    if (!role.ports.empty())
      exported.notes.push_back(str_cat(key, "ports: ", to_text(role.ports),
                                       ": they are served, and nobody is told of them"));
  }
  if (job.slurm != SlurmWishes()) exported.notes.push_back("slurm: nothing of it is said there");
  if (job.yarn != YarnWishes()) exported.notes.push_back("yarn: nothing of it is said there");
}

const std::string& image_of(const JobSpec& job, const RoleSpec& role) {
  return role.image.empty() ? job.image : role.image;
}

Status check_images(const JobSpec& job, std::string_view format) {
  for (const RoleSpec& role : job.roles)
    if (image_of(job, role).empty())
      return invalid("role '", role.name, "' has no image, and a ", format,
                     " runs containers; write image into the job file, or --image");
  return {};
}

void note_restarts(const JobSpec& job, ExportedJob& exported) {
  for (const RoleSpec& role : job.roles) {
    const std::string key = str_cat("roles.", role.name, ".");
    if (role.may_lose.amount > 0)
      exported.notes.push_back(str_cat(key, "may_lose: a task that fails for good fails the job"));
    if (scales(role))
      exported.notes.push_back(str_cat(key, role.most ? "max" : "min",
                                       ": its number of tasks stays as it begins, ", role.count));
    if (role.restart.when == RestartPolicy::When::never) continue;
    exported.notes.push_back(
        str_cat(key, "restart: how often and how soon is counted another way there"));
  }
}

}  // namespace millrace

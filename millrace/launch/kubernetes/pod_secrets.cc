#include "millrace/launch/kubernetes/pod_secrets.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/launch/kubernetes/object_words.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

bool is_of_cluster(const RoleSecret& secret) {
  return secret.source.kind == SecretSource::Kind::kubernetes;
}

}  // namespace

std::string own_secret_of(const std::string& job) { return job + "-secrets"; }

bool has_own_secret(const JobSpec& job) {
  return !std::ranges::all_of(secrets_of(job), is_of_cluster);
}

Json secret_variable(const JobSpec& job, const RoleSecret& secret) {
  const SecretOfCluster at = is_of_cluster(secret)
                                 ? secret_of_cluster(secret.source)
                                 : SecretOfCluster{own_secret_of(job.name), secret.key};
  return {{"name", secret.variable},
          {"valueFrom", {{"secretKeyRef", {{"name", at.name}, {"key", at.key}}}}}};
}

std::vector<std::string> cluster_secrets_of(const JobSpec& job) {
  std::vector<std::string> names;
  for (const RoleSecret& secret : secrets_of(job))
    if (is_of_cluster(secret)) names.push_back(secret_of_cluster(secret.source).name);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

Status check_cluster_secrets(const JobSpec& job, const std::vector<Json>& secrets) {
  for (const RoleSecret& secret : secrets_of(job)) {
    if (!is_of_cluster(secret)) continue;
    const auto [name, key] = secret_of_cluster(secret.source);
    const auto found = std::ranges::find_if(secrets, [&, &wanted = name](const Json& object) {
      return object_text(object, {"metadata", "name"}) == wanted;
    });
    if (found == secrets.end())
      return failed_precondition("secrets.", secret.key, ": the namespace has no Secret '", name,
                                 "'; kubectl create secret generic ", name, " --from-file=", key,
                                 "=FILE  makes one");
    const Json& data = object_part(*found, {"data"});
    if (data.contains(key)) continue;
    std::string keys;
    for (const auto& [known, value] : data.items())
      str_append(&keys, keys.empty() ? "" : ", ", known);
    return failed_precondition("secrets.", secret.key, ": Secret '", name, "' has no key '", key,
                               "'; it has: ", keys.empty() ? "none" : keys);
  }
  return {};
}

std::vector<std::string> secret_notes(const JobSpec& job) {
  std::vector<std::string> notes;
  for (const RoleSecret& secret : secrets_of(job))
    if (!is_of_cluster(secret))
      notes.push_back(str_cat(secret.key, ", of the ", to_text(secret.source),
                              ", is not shown: submit puts it into Secret ",
                              own_secret_of(job.name), ", which is empty below"));
  return notes;
}

}  // namespace millrace

// The words of the cluster's API: where objects stand, which of them are meant, what its answers
// say. Pure; cluster_api.h asks by them. Source: Kubernetes' API concepts (its reference).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "millrace/base/result.h"

namespace millrace {

// Objects of one kind.
struct ObjectKind {
  std::string_view api;     // "v1", "batch/v1"
  std::string_view plural;  // "pods"
};
inline constexpr ObjectKind kConfigMaps{"v1", "configmaps"};
inline constexpr ObjectKind kEvents{"v1", "events"};
inline constexpr ObjectKind kJobs{"batch/v1", "jobs"};
inline constexpr ObjectKind kNodes{"v1", "nodes"};
inline constexpr ObjectKind kPods{"v1", "pods"};
// Of Volcano.
inline constexpr ObjectKind kPodGroups{"scheduling.volcano.sh/v1beta1", "podgroups"};
inline constexpr ObjectKind kSecrets{"v1", "secrets"};
inline constexpr ObjectKind kServices{"v1", "services"};

// "/apis/batch/v1/namespaces/n/jobs": of all namespaces, and of what is in none, if there is no
// `name_space`.
std::string path_of(ObjectKind kind, std::string_view name_space);
// The same of one object.
std::string path_of(ObjectKind kind, std::string_view name_space, std::string_view name);
// Where such an object is to be made; its own namespace goes before `name_space`.
std::string path_for(const nlohmann::ordered_json& manifest, std::string_view name_space);
// Where it is then.
std::string path_of(const nlohmann::ordered_json& object, std::string_view name_space);

// As it is asked for through a socket, where the host is nobody's.
std::string url_of(std::string_view path);

// Which objects of a kind are meant; empty: all.
struct ObjectQuery {
  std::string labels = {};  // "a=b,c=d"
  std::string fields = {};  // "status.phase=Running"
};
// Of an answer that comes in pieces: the next one is behind `after`.
std::string query_text(const ObjectQuery& query, std::string_view after);

struct ObjectList {
  std::vector<nlohmann::ordered_json> objects = {};
  std::string after = {};  // empty: there are no more
};
// With each object's kind and API, which stand on the list alone. Errors: UNAVAILABLE for what is
// no list.
Result<ObjectList> read_list(const std::string& body);
// Errors: UNAVAILABLE for what is no object.
Result<nlohmann::ordered_json> read_object(const std::string& body);

}  // namespace millrace

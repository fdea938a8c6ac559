#include "millrace/launch/kubernetes/api_words.h"

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/url.h"
#include "millrace/launch/kubernetes/object_words.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

// As many as kubectl has at a time.
constexpr int kMostInAPiece = 500;

std::string encoded(std::string_view text) {
  return remote::percent_encoded(text, remote::Slashes::encoded);
}

std::string root_of(std::string_view api, std::string_view name_space) {
  std::string root = str_cat(api.find('/') == api.npos ? "/api/" : "/apis/", api, "/");
  if (!name_space.empty()) str_append(&root, "namespaces/", encoded(name_space), "/");
  return root;
}

}  // namespace

std::string path_of(ObjectKind kind, std::string_view name_space) {
  return str_cat(root_of(kind.api, name_space), kind.plural);
}

std::string path_of(ObjectKind kind, std::string_view name_space, std::string_view name) {
  return str_cat(path_of(kind, name_space), "/", encoded(name));
}

std::string path_for(const Json& manifest, std::string_view name_space) {
  const std::string own = object_text(manifest, {"metadata", "namespace"});
  // "ConfigMap" is "configmaps" there, and so is every other kind that a job is made of.
  std::string plural = object_text(manifest, {"kind"}) + "s";
  for (char& letter : plural)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return str_cat(root_of(object_text(manifest, {"apiVersion"}), own.empty() ? name_space : own),
                 plural);
}

std::string path_of(const Json& object, std::string_view name_space) {
  return str_cat(path_for(object, name_space), "/",
                 encoded(object_text(object, {"metadata", "name"})));
}

std::string url_of(std::string_view path) { return str_cat("http://localhost", path); }

std::string query_text(const ObjectQuery& query, std::string_view after) {
  std::string text = str_cat("?limit=", kMostInAPiece);
  if (!query.labels.empty()) str_append(&text, "&labelSelector=", encoded(query.labels));
  if (!query.fields.empty()) str_append(&text, "&fieldSelector=", encoded(query.fields));
  if (!after.empty()) str_append(&text, "&continue=", encoded(after));
  return text;
}

Result<Json> read_object(const std::string& body) {
  Json json = Json::parse(body, nullptr, false);
  if (!json.is_object())
    return unavailable("the cluster does not answer: what came through kubectl is no object: ",
                       shortened(body));
  return json;
}

Result<ObjectList> read_list(const std::string& body) {
  MR_ASSIGN(Json json, read_object(body));
  constexpr std::string_view kEnd = "List";
  std::string kind = object_text(json, {"kind"});
  if (!kind.ends_with(kEnd) || !json.contains("items"))
    return unavailable("the cluster does not answer: what came through kubectl is no list: ",
                       shortened(body));
  kind.resize(kind.size() - kEnd.size());
  ObjectList list{.after = object_text(json, {"metadata", "continue"})};
  // null, where there are none.
  for (Json& item : json["items"]) {
    if (!item.is_object()) continue;
    item["kind"] = kind;
    item["apiVersion"] = object_text(json, {"apiVersion"});
    list.objects.push_back(std::move(item));
  }
  return list;
}

}  // namespace millrace

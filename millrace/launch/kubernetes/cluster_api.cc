#include "millrace/launch/kubernetes/cluster_api.h"

#include <fstream>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/curl_http.h"
#include "millrace/launch/kubernetes/faults.h"
#include "millrace/launch/local_command.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;

// What the proxy takes to begin is kubectl's own time, not the cluster's.
constexpr std::chrono::seconds kToListen{20};

// Where kubectl, run in a pod without a configuration, has its namespace.
constexpr const char* kNamespaceOfPod = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

std::string namespace_of_pod() {
  std::ifstream file(kNamespaceOfPod);
  std::string name;
  file >> name;
  return name;
}

std::unique_ptr<remote::Http> http_by(const std::string& socket, Clock::Duration time_limit) {
  const auto limit = std::chrono::duration_cast<milliseconds>(time_limit);
  return std::make_unique<remote::CurlHttp>(remote::HttpTerms{.connect = limit / 2,
                                                              .silence = limit / 2,
                                                              .proxies = remote::Proxies::none,
                                                              .unix_socket = socket});
}

}  // namespace

ClusterApi::ClusterApi(std::vector<std::string> kubectl, std::string name_space,
                       Clock::Duration time_limit, const Clock& clock)
    : kubectl_(std::move(kubectl)),
      time_limit_(time_limit),
      clock_(clock),
      name_space_(std::move(name_space)) {}

Result<std::string> ClusterApi::own_namespace() {
  std::vector<std::string> words = kubectl_;
  words.insert(words.end(), {"config", "view", "--minify", "--output=jsonpath={..namespace}"});
  MR_ASSIGN(const CommandOutput answer, run_command(words, "", time_limit_, clock_));
  // It fails where there is no configuration.
  std::string name = answer.code == 0 ? answer.out : namespace_of_pod();
  return name.empty() ? "default" : std::move(name);
}

Status ClusterApi::connect() {
  if (proxy_ && proxy_->lives()) return {};
  http_.reset();
  proxy_.reset();
  MR_ASSIGN(std::unique_ptr<LocalProxy> proxy, LocalProxy::start(kubectl_));
  // Meanwhile the proxy begins.
  Result<std::string> name_space = name_space_.empty() ? own_namespace() : name_space_;
  MR_TRY(proxy->await(kToListen, clock_));
  MR_ASSIGN(name_space_, std::move(name_space));
  http_ = http_by(proxy->socket(), time_limit_);
  proxy_ = std::move(proxy);
  return {};
}

Result<std::string> ClusterApi::ask_once(const Question& question) {
  remote::HttpRequest request{.method = question.method,
                              .url = url_of(question.path),
                              .headers = {"Accept: application/json"},
                              .body = question.body,
                              .content_type = question.content_type,
                              .most_body = kLongestAnswer};
  remote::HttpReply reply = http_->send(request);
  if (reply.trouble.code() == Code::unimplemented)
    return failed_precondition("jobs go to Kubernetes by HTTP: ", reply.trouble.message());
  // A proxy that takes no questions is started anew. Through one that does, and has got no answer,
  // others may be hearing what tasks write.
  if (!reply.trouble.ok() && !reply.was_sent) proxy_.reset();
  if (!reply.trouble.ok()) return reply.trouble.with("the cluster does not answer");
  if (!reply.ok()) return api_fault(reply.status, reply.body);
  return std::move(reply.body);
}

Result<std::string> ClusterApi::ask(const Question& question, Tries tries) {
  return ask_again(tries, [&]() -> Result<std::string> {
    MR_TRY(connect());
    return ask_once(question);
  });
}

Result<ClusterApi::Objects> ClusterApi::list(const std::vector<ObjectKind>& kinds,
                                             const ObjectQuery& query, Scope scope) {
  MR_TRY(connect());
  Objects objects;
  size_t num_bytes = 0;
  for (const ObjectKind& kind : kinds) {
    const std::string path = path_of(kind, scope == Scope::own_namespace ? name_space_ : "");
    std::string after;
    do {
      MR_ASSIGN(const std::string body,
                ask({.path = path + query_text(query, after)}, Tries::several));
      num_bytes += body.size();
      if (num_bytes > kLongestAnswer)
        return error(Code::resource_exhausted, "the cluster lists more than ", kLongestAnswer,
                     " bytes of ", kind.plural, "; choose a namespace that has fewer");
      MR_ASSIGN(ObjectList piece, read_list(body));
      for (Object& object : piece.objects) objects.push_back(std::move(object));
      after = std::move(piece.after);
    } while (!after.empty());
  }
  return objects;
}

Result<std::optional<ClusterApi::Object>> ClusterApi::find(ObjectKind kind,
                                                           const std::string& name) {
  MR_TRY(connect());
  const Result<std::string> body = ask({.path = path_of(kind, name_space_, name)}, Tries::several);
  if (body.status().code() == Code::not_found) return std::optional<Object>();
  MR_TRY(body.status());
  MR_ASSIGN(Object object, read_object(*body));
  return std::optional<Object>(std::move(object));
}

Result<ClusterApi::Object> ClusterApi::create(const Object& manifest) {
  MR_TRY(connect());
  const std::string text = manifest.dump(-1, ' ', false, Object::error_handler_t::replace);
  MR_ASSIGN(
      const std::string body,
      ask({.method = "POST", .path = path_for(manifest, name_space_), .body = text}, Tries::one));
  return read_object(body);
}

Status ClusterApi::patch(ObjectKind kind, const std::string& name, Patch form,
                         const std::string& patch, Tries tries) {
  MR_TRY(connect());
  return patch_at(path_of(kind, name_space_, name), form, patch, tries);
}

Status ClusterApi::patch(const Object& object, Patch form, const std::string& patch, Tries tries) {
  MR_TRY(connect());
  return patch_at(path_of(object, name_space_), form, patch, tries);
}

Status ClusterApi::patch_at(std::string path, Patch form, const std::string& patch, Tries tries) {
  return ask({.method = "PATCH",
              .path = std::move(path),
              .body = patch,
              .content_type = form == Patch::merge ? "application/merge-patch+json"
                                                   : "application/json-patch+json"},
             tries)
      .status();
}

Status ClusterApi::remove(ObjectKind kind, const std::string& name, Removal removal) {
  MR_TRY(connect());
  return remove_at(path_of(kind, name_space_, name), removal);
}

Status ClusterApi::remove(const Object& object, Removal removal) {
  MR_TRY(connect());
  return remove_at(path_of(object, name_space_), removal);
}

Result<ApiAddress> ClusterApi::output_of(const std::string& pod, const std::string& container,
                                         bool follow) {
  MR_TRY(connect());
  return ApiAddress{.socket = proxy_->socket(),
                    .path = str_cat(path_of(kPods, name_space_, pod), "/log?container=", container,
                                    follow ? "&follow=true" : "")};
}

Status ClusterApi::remove_at(std::string path, Removal removal) {
  path += removal == Removal::by_force ? "?gracePeriodSeconds=0" : "?propagationPolicy=Background";
  const Status done = ask({.method = "DELETE", .path = std::move(path)}, Tries::several).status();
  return done.code() == Code::not_found ? Status() : done;
}

}  // namespace millrace

// The cluster's API, asked by HTTP through one `kubectl proxy` (local_proxy.h): objects are listed,
// made, changed and removed, in api_words.h's words. The proxy is started by the first question,
// and anew when it has ended. Every question has a time limit; what may pass (nobody answers, a
// slow server) is asked again a few times where that does no harm. Single-threaded.
//
// Errors of all: as of kubectl_fault() and api_fault(); FAILED_PRECONDITION without kubectl, or
// without libcurl; RESOURCE_EXHAUSTED for an answer that has no end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "millrace/base/clock.h"
#include "millrace/io/remote/http.h"
#include "millrace/launch/kubernetes/api_words.h"
#include "millrace/launch/kubernetes/local_proxy.h"
#include "millrace/launch/local_tries.h"

namespace millrace {

// Where something stands that is asked for elsewhere than here: for as long as the proxy lives.
struct ApiAddress {
  std::string socket;
  std::string path;
};

class ClusterApi {
 public:
  using Object = nlohmann::ordered_json;
  using Objects = std::vector<Object>;

  // `kubectl`: the command, with the words that choose a cluster. `name_space`: empty for the one
  // that kubectl takes by itself. `time_limit`: of one question.
  ClusterApi(std::vector<std::string> kubectl, std::string name_space, Clock::Duration time_limit,
             const Clock& clock);

  enum class Scope { own_namespace, whole_cluster };
  // Of one kind after the other: what is listed later is no older.
  Result<Objects> list(const std::vector<ObjectKind>& kinds, const ObjectQuery& query,
                       Scope scope = Scope::own_namespace);
  // None if there is none.
  Result<std::optional<Object>> find(ObjectKind kind, const std::string& name);

  // As it was made. Asked once: of a call that was not answered nobody knows what it has made.
  Result<Object> create(const Object& manifest);

  // JSON Merge Patch (RFC 7386), JSON Patch (RFC 6902).
  enum class Patch { merge, json };
  Status patch(ObjectKind kind, const std::string& name, Patch form, const std::string& patch,
               Tries tries);
  // The same of an object that was listed or made.
  Status patch(const Object& object, Patch form, const std::string& patch, Tries tries);

  // In its own time, with those that it owns after it; or without waiting for anybody, as for a pod
  // of which no machine tells any more. OK if it is not there.
  enum class Removal { as_usual, by_force };
  Status remove(ObjectKind kind, const std::string& name, Removal removal);
  Status remove(const Object& object, Removal removal);

  // What a container writes, for pod_output.h: what it has written, or also all that is to come.
  Result<ApiAddress> output_of(const std::string& pod, const std::string& container, bool follow);

 private:
  struct Question {
    std::string method = "GET";
    std::string path;
    std::string_view body = {};
    std::string_view content_type = "application/json";
  };
  Result<std::string> ask(const Question& question, Tries tries);
  Result<std::string> ask_once(const Question& question);
  Status patch_at(std::string path, Patch form, const std::string& patch, Tries tries);
  Status remove_at(std::string path, Removal removal);
  Status connect();
  Result<std::string> own_namespace();

  const std::vector<std::string> kubectl_;
  const Clock::Duration time_limit_;
  const Clock& clock_;
  std::string name_space_;  // empty until it is known
  std::unique_ptr<LocalProxy> proxy_;
  std::unique_ptr<remote::Http> http_;  // of that proxy
};

}  // namespace millrace

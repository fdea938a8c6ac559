#include "millrace/launch/kubernetes/api_words.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

TEST_CASE("objects stand below their API, in their namespace, by their name") {
  CHECK(path_of(kPods, "n") == "/api/v1/namespaces/n/pods");
  CHECK(path_of(kJobs, "n", "words-map") == "/apis/batch/v1/namespaces/n/jobs/words-map");
  CHECK(path_of(kNodes, "") == "/api/v1/nodes");
  CHECK(path_of(kJobs, "") == "/apis/batch/v1/jobs");
  CHECK(path_of(kPods, "n", "a/../b") == "/api/v1/namespaces/n/pods/a%2F..%2Fb");
}

TEST_CASE("what is to be made tells where: its API, its kind, and its namespace if it has one") {
  const Json map = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "c"}}}};
  CHECK(path_for(map, "n") == "/api/v1/namespaces/n/configmaps");
  CHECK(path_of(map, "n") == "/api/v1/namespaces/n/configmaps/c");
  const Json group = {{"apiVersion", "scheduling.volcano.sh/v1beta1"},
                      {"kind", "PodGroup"},
                      {"metadata", {{"name", "g"}, {"namespace", "own"}}}};
  CHECK(path_of(group, "n") == "/apis/scheduling.volcano.sh/v1beta1/namespaces/own/podgroups/g");
}

TEST_CASE("a query says which objects are meant, and behind which a piece begins") {
  CHECK(query_text({}, "") == "?limit=500");
  CHECK(query_text({.labels = "a/b=c,d!=e", .fields = "status.phase=Running"}, "x=") ==
        "?limit=500&labelSelector=a%2Fb%3Dc%2Cd%21%3De&fieldSelector=status.phase%3DRunning"
        "&continue=x%3D");
}

TEST_CASE("objects of a list have its kind and its API, and it says whether there are more") {
  const auto list = read_list(R"({"kind": "PodList", "apiVersion": "v1",
      "metadata": {"continue": "next"}, "items": [{"metadata": {"name": "a"}}, 7]})");
  REQUIRE_MESSAGE(list.ok(), list.status().message());
  REQUIRE(list->objects.size() == 1);
  CHECK(list->objects[0]["kind"] == "Pod");
  CHECK(list->objects[0]["apiVersion"] == "v1");
  CHECK(list->after == "next");
  const auto none = read_list(R"({"kind": "JobList", "apiVersion": "batch/v1", "items": null})");
  REQUIRE_MESSAGE(none.ok(), none.status().message());
  CHECK(none->objects.empty());
  CHECK(none->after.empty());
}

TEST_CASE("what is no list, or no object, is an answer that did not come") {
  for (const char* body : {"what", "[]", "{}", R"({"kind": "Pod"})", R"({"kind": "PodList"})"})
    CHECK(read_list(body).status().code() == Code::unavailable);
  CHECK(read_object("[1]").status().code() == Code::unavailable);
}

}  // namespace
}  // namespace millrace

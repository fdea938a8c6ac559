#include "millrace/launch/kubernetes/pod_files.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "millrace/base/clock.h"
#include "millrace/base/testing/scratch_directory.h"
#include "millrace/launch/job_file.h"
#include "millrace/launch/kubernetes/gang.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/pod_depot.h"
#include "millrace/launch/kubernetes/seen_role.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSmallJob = R"({name: digits, image: digits:1, command: python3 train.py,
    files: [train.py, data], roles: {ps: 1, worker: 2}})";

JobSpec job_of(const char* text) { return parse_job_file(text, "job.yaml").value(); }

// What would travel from a directory with two files, of which one is as long as that.
PodFiles files_of(const JobSpec& job, size_t size) {
  const testing::ScratchDirectory here;
  std::ofstream(here.path("train.py")) << "print(1)\n";
  std::ofstream(here.path("data")) << std::string(size, 'x');
  const Shipment shipment =
      Shipment::make(job, {.directory = here.path(""), .scratch = here.path("")}, Clock::real())
          .value();
  return pod_files(shipment).value();
}

const Json& container_of(const Json& manifest) {
  return manifest["spec"]["template"]["spec"]["containers"][0];
}

std::string stored(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

bool holds(const Json& list, const Json& element) {
  return std::ranges::find(list, element) != list.end();
}

TEST_CASE("small files go into a Secret of the job's own, by their digests") {
  const JobSpec job = job_of(kSmallJob);
  const PodFiles files = files_of(job, 2);
  CHECK(!files.by_depot);
  const auto manifests = kubernetes_manifests(job, {.token = "t", .files = files}).value();
  REQUIRE(manifests.size() == 6);
  const Json& secret = manifests[3];
  CHECK(secret["kind"] == "Secret");
  CHECK(secret["metadata"]["name"] == "digits-files");
  CHECK(secret["metadata"]["labels"] == manifests[0]["metadata"]["labels"]);
  CHECK(secret["data"].size() == 3);
  CHECK(secret["data"][files.manifest.files[0].digest] == "cHJpbnQoMSkK");
  CHECK(secret["data"][files.manifest.files[1].digest] == "eHg=");
  CHECK(secret["data"].contains(files.digest));
}

TEST_CASE("every task has them in a folder of its own, and begins there") {
  const JobSpec job = job_of(kSmallJob);
  const PodFiles files = files_of(job, 2);
  const auto manifests = kubernetes_manifests(job, {.token = "t", .files = files}).value();
  for (const size_t role : {4, 5}) {
    const Json& container = container_of(manifests[role]);
    const std::string words = container["command"].dump();
    CHECK(words.find(R"("--files","/etc/millrace-files/)" + files.digest +
                     R"(","--folder","/var/millrace/task","--","python3")") != std::string::npos);
    CHECK(container["workingDir"] == "/var/millrace/task");
    CHECK(holds(container["volumeMounts"],
                {{"name", "files"}, {"mountPath", "/etc/millrace-files"}, {"readOnly", true}}));
    const Json& volumes = manifests[role]["spec"]["template"]["spec"]["volumes"];
    CHECK(holds(volumes, {{"name", "files"}, {"secret", {{"secretName", "digits-files"}}}}));
    CHECK(holds(volumes, {{"name", "task"}, {"emptyDir", Json::object()}}));
  }
}

TEST_CASE("who sees the objects sees what is in the files by size and digest alone") {
  const JobSpec job = job_of(kSmallJob);
  const PodFiles files = without_contents(files_of(job, 2));
  const auto manifests = kubernetes_manifests(job, {.token = "t", .files = files}).value();
  CHECK(manifests[3]["data"].empty());
  CHECK(file_notes(job, files)[1] ==
        "data, 2 bytes, SHA-256 " + files.manifest.files[1].digest +
            ": submit puts it into Secret digits-files, which is empty below");
}

TEST_CASE("as much as fits into a Secret goes there, and not a byte more") {
  const JobSpec job = job_of(kSmallJob);
  const size_t rest = files_of(job, 100'000).blobs.size();
  CHECK(rest == 3);
  CHECK(!files_of(job, 690'000).by_depot);
  const PodFiles large = files_of(job, kMostInSecret);
  CHECK(large.by_depot);
  CHECK(large.blobs.empty());
}

TEST_CASE("a job with outputs has a depot, which is none of its tasks") {
  const JobSpec job = parse_job_file(stored("testdata/depot.job.yaml"), "depot.job.yaml").value();
  const PodFiles files{
      .manifest = {.files = {{.name = "data", .size = 5'000'000, .digest = std::string(64, 'd')}},
                   .outputs = {{"worker", {"model/*"}}}},
      .digest = std::string(64, 'a'),
      .by_depot = true};
  const auto manifests =
      kubernetes_manifests(
          job, {.token = "secret", .run = "1", .admission = "waiting 1 0 0", .files = files})
          .value();
  CHECK(to_yaml_file(manifests) == stored("testdata/depot.yaml"));
  const Json& depot = manifests[3];
  REQUIRE(is_of_depot(depot));
  CHECK(is_of_depot(depot["spec"]["template"]));
  // It is there before the others are let in.
  CHECK(!depot["spec"].contains("suspend"));
  CHECK(manifests[4]["spec"]["suspend"] == true);
  CHECK(head_of(manifests)["metadata"]["name"] == "digits-ps");
  CHECK(seen_roles(manifests).size() == 2);
  CHECK(gangs_in(manifests)[0].count == 3);
}

TEST_CASE("tasks have time to bring what they have made, and it is kept for a while") {
  JobSpec job = job_of(kSmallJob);
  job.grace = std::chrono::seconds(2);
  job.keep = std::chrono::seconds(0);
  PodFiles files = files_of(job, 2);
  const auto spec_of = [&] {
    return kubernetes_manifests(job, {.token = "t", .files = files}).value()[5]["spec"];
  };
  CHECK(spec_of()["ttlSecondsAfterFinished"] == 0);
  CHECK(spec_of()["template"]["spec"]["terminationGracePeriodSeconds"] == 2);
  job.outputs = {"model"};
  files = files_of(job, 2);
  CHECK(spec_of()["ttlSecondsAfterFinished"] == 600);
  CHECK(spec_of()["template"]["spec"]["terminationGracePeriodSeconds"] == 32);
}

}  // namespace
}  // namespace millrace

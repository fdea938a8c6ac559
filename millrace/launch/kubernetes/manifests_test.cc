#include "millrace/launch/kubernetes/manifests.h"

#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "millrace/launch/job_file.h"
#include "millrace/launch/kubernetes/role_sizes.h"

namespace millrace {
namespace {

const KubernetesDraw kDraw{.token = "secret"};

JobSpec counting_words() {
  return {.name = "words",
          .roles = {{"files", 1}, {"map", 2}},
          .command = {"python3", "count.py"},
          .image = "count:1"};
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("jobs in testdata become the objects beside them") {
  for (const std::string name : {"training", "elastic", "placed"}) {
    const std::string file = "testdata/" + name + ".job.yaml";
    const JobSpec job = parse_job_file(content(file), file).value();
    CHECK(to_yaml_file(kubernetes_manifests(job, kDraw).value()) ==
          content("testdata/" + name + ".yaml"));
  }
}

TEST_CASE("a job of several tasks is made suspended, and says on one of its Jobs how far it is") {
  const std::string file = "testdata/gang.job.yaml";
  const JobSpec job = parse_job_file(content(file), file).value();
  KubernetesDraw draw = kDraw;
  draw.admission = "waiting 1769860805 0 0";
  CHECK(to_yaml_file(kubernetes_manifests(job, draw).value()) == content("testdata/gang.yaml"));
}

TEST_CASE("a single task is not held back, nor a job that a queue holds") {
  KubernetesDraw draw = kDraw;
  draw.admission = "waiting 1769860805 0 0";
  JobSpec single = counting_words();
  single.roles = {{"map", 1}};
  JobSpec queued = counting_words();
  queued.queue = "team";
  for (const JobSpec& job : {single, queued}) {
    CHECK(!is_gang(job));
    for (const auto& manifest : kubernetes_manifests(job, draw).value())
      if (manifest["kind"] == "Job") CHECK(!manifest["spec"].contains("suspend"));
  }
}

TEST_CASE("every task has the name under which the others look for it") {
  const auto manifests = kubernetes_manifests(counting_words(), kDraw).value();
  REQUIRE(manifests.size() == 5);
  CHECK(manifests[1]["data"]["cluster.json"] ==
        R"({"cluster":{"files":["words-files-0.words:2222"],)"
        R"("map":["words-map-0.words:2222","words-map-1.words:2222"]}})");
  // Kubernetes calls pod I of an indexed Job by the Job's name and I, below the subdomain.
  CHECK(manifests[4]["metadata"]["name"] == "words-map");
  CHECK(manifests[4]["spec"]["template"]["spec"]["subdomain"] == "words");
  CHECK(manifests[0]["metadata"]["name"] == "words");
}

TEST_CASE("what Kubernetes would replace in the job's words stays as it was written") {
  JobSpec job = counting_words();
  job.command = {"sh", "-c", "echo $(HOME) $$ $x"};
  job.environment = {{"A", "$(B)"}};
  const auto manifests = kubernetes_manifests(job, kDraw).value();
  const auto& container = manifests[3]["spec"]["template"]["spec"]["containers"][0];
  CHECK(container["command"].back() == "echo $$(HOME) $$$ $x");
  const auto& variables = container["env"];
  CHECK(variables[variables.size() - 2] ==
        nlohmann::ordered_json{{"name", "A"}, {"value", "$$(B)"}});
}

TEST_CASE("two thousand tasks stay far below what the cluster's store takes") {
  JobSpec job = counting_words();
  job.roles[1].count = 1000;
  job.roles[1].most = 2000;
  CHECK(to_yaml_file(kubernetes_manifests(job, kDraw).value()).size() < 256'000);
}

TEST_CASE("a job that pods can't run is told why") {
  struct Row {
    void (*spoil)(JobSpec&);
    const char* told;
  };
  for (const Row& row : {
           Row{[](JobSpec& job) { job.image.clear(); }, "role 'files' has no image"},
           Row{[](JobSpec& job) { job.name.clear(); }, "needs a name: lower-case"},
           Row{[](JobSpec& job) { job.name = "Words"; }, "needs a name: lower-case"},
           Row{[](JobSpec& job) { job.roles[0].name = "Map"; }, "two roles are called 'map'"},
           Row{[](JobSpec& job) { job.roles[0].name = std::string(60, 'a'); }, "63 are allowed"},
           Row{[](JobSpec& job) { job.first_port = 2000; }, "an address of its own"},
           Row{[](JobSpec& job) {
                 job.volumes = {{"/data", "/mnt"}};
               },
               "the name of a Persistent"},
           Row{[](JobSpec& job) {
                 job.files = {"train.py", "lib/train.py"};
               },
               "'lib/train.py' would be called 'train.py'"},
           Row{[](JobSpec& job) {
                 job.roles[0].name = "depot";
                 job.outputs = {"model"};
               },
               "what keeps the job's files is called 'depot'"},
           Row{[](JobSpec& job) { job.roles.clear(); }, "no tasks"},
       }) {
    JobSpec job = counting_words();
    row.spoil(job);
    const Status status = kubernetes_manifests(job, kDraw).status();
    CHECK(status.code() == Code::invalid_argument);
    CAPTURE(status.message());
    CHECK_MESSAGE(status.message().find(row.told) != std::string::npos, row.told);
  }
}

TEST_CASE("a variable that job and role both set stands once, as the role has it") {
  JobSpec job = counting_words();
  job.environment = {{"A", "of the job"}};
  job.roles[0].environment = {{"A", "of the role"}};
  const std::string of_first_role = to_yaml_file({kubernetes_manifests(job, kDraw).value()[3]});
  CHECK(of_first_role.find("of the role") != std::string::npos);
  CHECK(of_first_role.find("of the job") == std::string::npos);
}

TEST_CASE("tasks know whose success ends them, and the token by which they believe it") {
  JobSpec job = counting_words();
  job.until = {"map"};
  const auto manifests = kubernetes_manifests(job, {.token = "t", .run = "r"}).value();
  CHECK(manifests[2]["stringData"]["token"] == "t");
  for (const auto& manifest : manifests) CHECK(manifest["metadata"]["labels"][kRunLabel] == "r");
  CHECK(manifests[3]["spec"]["template"]["metadata"]["labels"][kRunLabel] == "r");
  const auto& command = manifests[3]["spec"]["template"]["spec"]["containers"][0]["command"];
  CHECK(command[8] == "--until");
  CHECK(command[9] == "map");
  CHECK(head_of(manifests)["metadata"]["name"] == "words-map");
  CHECK(manifests[3]["metadata"]["annotations"][kDecidesAnnotation] == "false");
}

TEST_CASE("a job that may be scaled has names for all that may be, and pods for those that are") {
  JobSpec job = counting_words();
  job.roles[1].least = 1;
  job.roles[1].most = 3;
  const auto manifests = kubernetes_manifests(job, kDraw).value();
  CHECK(manifests[1]["data"]["cluster.json"].dump().find("words-map-2.words:2222") !=
        std::string::npos);
  CHECK(manifests[1]["data"][kRosterKey] == "map:2 words-map-2.words:2222\n");
  const auto& map = manifests[4];
  CHECK(map["spec"]["completions"] == 2);
  CHECK(map["spec"]["parallelism"] == 2);
  CHECK(map["metadata"]["annotations"][kBoundsAnnotation] == "1-3");
  CHECK(map["metadata"]["annotations"][kSizesAnnotation] == "2");
  CHECK(!manifests[3]["metadata"]["annotations"].contains(kBoundsAnnotation));
  // Helpers too: they wait for those that are there.
  for (size_t i : {3, 4}) {
    const auto& command = manifests[i]["spec"]["template"]["spec"]["containers"][0]["command"];
    CHECK(command.dump().find(R"("--roster","/etc/millrace/roster","--")") != std::string::npos);
  }
}

TEST_CASE("what was submitted can be had again from the objects") {
  JobSpec job = counting_words();
  job.roles[1].most = 3;
  const auto manifests = kubernetes_manifests(job, kDraw).value();
  const std::string text = manifests[1]["data"][kJobFileKey];
  CHECK(text == to_job_file(job));
  CHECK(to_job_file(parse_job_file(text, kJobFileKey).value()) == text);
}

TEST_CASE("roles that are restarted are tried again, index by index, each attempt in a pod") {
  JobSpec job = counting_words();
  job.roles[1].restart = parse_restart("on_failure").value();
  job.roles[1].restart.attempts = 3;
  job.roles[1].may_lose = parse_may_lose("50%").value();
  const auto manifests = kubernetes_manifests(job, kDraw).value();
  const auto& spec = manifests[4]["spec"];
  CHECK(spec["backoffLimitPerIndex"] == 2);
  CHECK(spec["podFailurePolicy"]["rules"].size() == 2);
  CHECK(spec["template"]["spec"]["restartPolicy"] == "Never");
  CHECK(manifests[4]["metadata"]["annotations"][kMayLoseAnnotation] == "1");
  const auto& container = spec["template"]["spec"]["containers"][0];
  CHECK(container["env"].dump().find("job-index-failure-count") != std::string::npos);
  CHECK(
      container["command"].dump().find(
          R"("--restarts","2","--restarts-but-after","126,127,128,250","--may-lose","map=1","--")") !=
      std::string::npos);
  // Its helper is not, and knows that others are.
  const auto& helper = manifests[3]["spec"];
  CHECK(helper["backoffLimitPerIndex"] == 0);
  CHECK(!helper.contains("podFailurePolicy"));
  CHECK(helper["template"]["spec"]["containers"][0]["command"].dump().find(
            R"("--restarts","0","--may-lose","map=1","--")") != std::string::npos);
}

TEST_CASE("a role's name becomes one of DNS") {
  CHECK(dns_name_of("Parameter_Server") == "parameter-server");
  CHECK(dns_name_of("a__") == "a");
}

}  // namespace
}  // namespace millrace

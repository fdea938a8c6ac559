#include "millrace/launch/place_wishes.h"

#include <doctest/doctest.h>

#include "millrace/launch/job_file.h"

namespace millrace {
namespace {

constexpr std::string_view kWishing = R"(
command: x
roles:
  ps: 1
  worker: {count: 2, kubernetes: {tolerations: [spot], apart: machine, priority: high}}
kubernetes:
  tolerations: gpu=yes:NoSchedule
  priority: low
  service_account: trainer
  pull_secrets: [registry]
  labels: {team: vision}
  annotations: {example.com/note: of any text!}
  spread: zone
  near: rack
  scheduler: volcano
  shm: 2Gi
slurm: {account: physics, qos: long, reservation: maintenance, constraint: a100|h100, exclusive: true}
yarn: {priority: 7, tags: [nightly, team-a]}
)";

std::string refused_section(std::string_view text) {
  const std::string file = str_cat("{command: x, roles: {a: 1}, ", text, "}");
  return std::string(parse_job_file(file, "job.yaml").status().message());
}

bool says(std::string_view section, std::string_view words) {
  const std::string told = refused_section(section);
  CAPTURE(told);
  return told.find(words) != std::string::npos;
}

TEST_CASE("what is asked of one manager is read, and written down again") {
  const JobSpec job = parse_job_file(kWishing, "job.yaml").value();
  const KubernetesWishes& asked = job.kubernetes;
  CHECK(asked.tolerations ==
        std::vector<Toleration>{{.key = "gpu", .value = "yes", .effect = "NoSchedule"}});
  CHECK(asked.shm == int64_t{2} << 30);
  CHECK(job.slurm == SlurmWishes{"physics", "long", "maintenance", "a100|h100", true});
  CHECK(job.yarn == YarnWishes{.priority = 7, .tags = {"nightly", "team-a"}});
  const JobSpec again = parse_job_file(to_job_file(job), "again").value();
  CHECK(again.kubernetes == job.kubernetes);
  CHECK(again.slurm == job.slurm);
  CHECK(again.yarn == job.yarn);
  CHECK(again.roles == job.roles);
}

TEST_CASE("how often a job runs is kept, unless it runs once") {
  const std::string words = "command: x\nroles: {map: 1}\n";
  const JobSpec job = parse_job_file(words + "slurm: {runs: 10}\n", "job.yaml").value();
  CHECK(job.slurm.runs == 10);
  CHECK(parse_job_file(to_job_file(job), "again").value().slurm == job.slurm);
  const JobSpec once = parse_job_file(words + "slurm: {runs: 1}\n", "job.yaml").value();
  CHECK(to_job_file(once).find("slurm") == std::string::npos);
}

TEST_CASE("a role's wishes are added to the job's, or stand for them") {
  const JobSpec job = parse_job_file(kWishing, "job.yaml").value();
  const KubernetesWishes all = merged(job.kubernetes, job.roles[1].kubernetes);
  REQUIRE(all.tolerations.size() == 2);
  CHECK(to_text(all.tolerations[1]) == "spot");
  CHECK(all.priority == "high");
  CHECK(all.apart == "machine");
  CHECK(all.spread == "zone");
  CHECK(merged(job.kubernetes, {}) == job.kubernetes);
}

TEST_CASE("tolerations are what taints are, as kubectl writes them") {
  for (const char* text : {"gpu=yes:NoSchedule", "gpu:NoExecute", "example.com/gpu", "*",
                           "*:NoSchedule", "spot:NoExecute for 600s", "a=:PreferNoSchedule"})
    CHECK(to_text(parse_toleration(text).value()) == text);
  CHECK(parse_toleration("spot:NoExecute for 10m").value().seconds == 600);
  CHECK(says("kubernetes: {tolerations: ['gpu:NoSchedul']}", "did you mean NoSchedule?"));
  CHECK(says("kubernetes: {tolerations: ['spot for 10m']}", "a time goes with NoExecute alone"));
  CHECK(says("kubernetes: {tolerations: ['=x']}", "its key is none of a taint"));
}

TEST_CASE("words for labels of machines are those of Kubernetes, others are labels themselves") {
  CHECK(topology_label("machine") == "kubernetes.io/hostname");
  CHECK(topology_label("zone") == "topology.kubernetes.io/zone");
  CHECK(topology_label("example.com/rack") == "example.com/rack");
}

TEST_CASE("wishes that can't be are refused with the section, the key and what is allowed") {
  CHECK(says("kubernetes: {toleration: x}", "did you mean 'tolerations'?"));
  CHECK(says("kubernetes: {labels: {app.kubernetes.io/name: x}}", "of their own"));
  CHECK(says("kubernetes: {labels: {team: 'a b'}}", "is no value of a label"));
  CHECK(
      says("kubernetes: {priority: High}", "kubernetes.priority: 'High' is no name of an object"));
  CHECK(says("kubernetes: {apart: 'no label'}", "write machine, zone, region, or a label's key"));
  CHECK(says("slurm: {acount: x}", "did you mean 'account'?"));
  CHECK(says("slurm: {account: 'a b'}", "slurm.account: 'a b' has what no name has"));
  CHECK(says("slurm: {constraint: 'a,b'}", "slurm.constraint"));
  CHECK(says("slurm: {exclusive: 2}", "neither true nor false"));
  CHECK(says("slurm: {requeue: often}", "neither true nor false"));
  CHECK(says("slurm: {runs: 0}", "slurm.runs"));
  CHECK(says("slurm: {runs: 1001}", "slurm.runs"));
  CHECK(says("slurm: {warn: soon}", "slurm.warn"));
  CHECK(says("slurm: {warn: 5m, warn_signal: KILL}", "no signal that a program can answer"));
  CHECK(says("slurm: {warn_signal: USR2}", "it goes with slurm.warn"));
  CHECK(says("yarn: {tags: 'a,b'}", "is no tag"));
  CHECK(says("yarn: {priority: high}", "yarn.priority"));
}

}  // namespace
}  // namespace millrace

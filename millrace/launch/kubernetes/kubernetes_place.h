// Kubernetes as a place for jobs: manifests.h and sight.h, with the cluster's API between them
// (cluster_api.h). kubectl brings the logins, whatever they are, and commands and ports of
// containers; it has to be on the PATH.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/launch/job_place.h"
#include "millrace/launch/kubernetes/cluster_api.h"
#include "millrace/launch/kubernetes/gang.h"
#include "millrace/launch/kubernetes/seen_pod.h"
#include "millrace/launch/shipping/shipment.h"

namespace millrace {

struct KubernetesOptions {
  // Empty: what kubectl takes by itself.
  std::string context = {};
  std::string name_space = {};
  // Of one question.
  Clock::Duration time_limit = std::chrono::seconds(30);
  // This very program, which brings what tasks write (pod_output.h).
  std::string program = "millrace";
  // What travels with a job, from here.
  std::function<Result<Shipment>(const JobSpec& job)> ship = {};
  // For people, while that takes long.
  std::function<void(const std::string& text)> note = [](const std::string&) {};
};

class KubernetesPlace final : public JobPlace {
 public:
  KubernetesPlace(KubernetesOptions options, Random& random, const Clock& clock);

  Status submit(const JobSpec& job) override;
  Result<JobSight> look(const std::string& name) override;
  std::optional<std::string> wants_looks(const std::string& name) const override;
  Result<JobSpec> job_of(const std::string& name) override;
  Result<std::vector<JobSight>> list() override;
  Status remove(const std::string& name) override;
  Status end_rest(const std::string& name) override;
  // From the job's depot, which ends then.
  Result<std::string> bring_outputs(const std::string& name) override;
  // Those that go have gone when it returns, or their time was over.
  Result<std::vector<ScaledRole>> scale(const std::string& name,
                                        const std::vector<RoleCount>& counts,
                                        const std::string& by) override;
  Result<AttemptOutput> output_of(const TaskSight& task, Follow follow) override;
  // In the task's container, with the environment of that.
  Result<GuestCommand> guest_of(const std::string& name, const TaskSight& task,
                                const std::vector<std::string>& command,
                                Terminal terminal) override;
  // By kubectl port-forward.
  Result<PortWay> way_to(const std::string& name, const TaskSight& task, int port,
                         int local) override;

 private:
  using Objects = ClusterApi::Objects;
  // Of all objects of the job.
  static std::string selector_of(const std::string& name);
  std::vector<std::string> kubectl(const std::vector<std::string>& words) const;
  Result<Objects> objects_of(const std::string& name, const std::vector<ObjectKind>& kinds);
  // That those are there which the job is to find in the cluster.
  Status find_secrets(const JobSpec& job);
  // All of it; it goes when the head goes. The head, as it was made.
  Result<nlohmann::ordered_json> create(const Objects& manifests);
  // The same of one whose head does not begin by itself: that comes first, so that the rest can be
  // made as the head's, and need not be changed.
  Result<nlohmann::ordered_json> create_held_back(const Objects& manifests);
  Status begin(const nlohmann::ordered_json& head);
  Status remove_labelled(const std::string& selector);
  // As far as it can.
  void remove_pod_groups(const std::string& selector);
  Status end_restarts(const std::string& name);
  // Lets jobs in that there is room for, and makes room (admission.h).
  Status let_jobs_in(const std::string& name_space);
  void heed_gangs(const Objects& objects);
  void tell_waiting(JobSight& sight) const;
  Status change_admission(const Gang& gang, const Admission& next);
  // Of a job with a depot (docs/design/shipped_files.md): its pod, once that runs; all that
  // travels, to it; all that was made, from it.
  struct Depot {
    bool is_there = false;   // what it keeps is wanted yet
    bool has_ended = false;  // it is lost, and there will be no other
    std::optional<Pod> pod = {};
    bool is_running() const { return pod && pod->stage == PodStage::running; }
  };
  Result<Depot> depot_of_job(const std::string& name);
  std::string why_no_depot(const std::string& name);
  Result<std::string> await_depot(const std::string& name);
  Status fill_depot(const std::string& name, const Shipment& shipment);
  Status fill_depot_once(const std::string& pod, const Shipment& shipment);
  Status empty_depot(const std::string& pod, const std::string& output_dir);
  Status save_outputs(const std::string& name);
  Status end_tasks(const std::string& name);
  std::vector<std::string> in_depot(const std::string& pod, const std::string& action) const;
  // Of scale().
  Result<Objects> scalable(const std::string& name);
  Status change_sizes(const std::string& name, const std::vector<ScaledRole>& roles);
  Status keep_roster(const std::string& name);
  void tell_pods(const std::string& name);
  Status await_leaving(const std::string& name, const std::vector<ScaledRole>& roles,
                       Clock::Duration grace);
  Status settle(const std::string& name);
  int64_t now() const { return clock_.wall_micros() / 1'000'000; }

  const KubernetesOptions options_;
  Random& random_;
  const Clock& clock_;
  ClusterApi api_;
  std::optional<std::string> wants_looks_;         // the job that was submitted
  std::map<std::string, std::string> waits_ = {};  // by job, why it is not let in
  Clock::Time next_admission_ = {};
};

}  // namespace millrace

#include "millrace/bin/job_texts.h"

#include <nlohmann/json.hpp>

#include "millrace/base/random.h"
#include "millrace/base/str_cat.h"
#include "millrace/bin/shipping_here.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/pod_restarts.h"
#include "millrace/launch/kubernetes/pod_secrets.h"

namespace millrace {

Result<std::string> kubernetes_text(const JobSpec& job) {
  const auto random = make_random();
  KubernetesDraw draw;
  for (int i = 0; i < 2; ++i) str_append(&draw.token, random->next());
  if (has_task_folders(job)) {
    MR_TRY(check_pod_files(job));
    MR_ASSIGN(const Shipment shipment, shipment_here(job));
    MR_ASSIGN(PodFiles files, pod_files(shipment));
    draw.files = without_contents(std::move(files));
  }
  MR_ASSIGN(const auto manifests, kubernetes_manifests(job, draw));
  std::string text;
  for (const std::string& note : restart_notes(job)) str_append(&text, "# ", note, "\n");
  for (const std::string& note : secret_notes(job)) str_append(&text, "# ", note, "\n");
  for (const std::string& note : file_notes(job, draw.files)) str_append(&text, "# ", note, "\n");
  return text + to_yaml_file(manifests);
}

}  // namespace millrace

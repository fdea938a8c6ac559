// A job as objects of Kubernetes, all of them built in: nothing has to be installed in the cluster.
//
//   Service   NAME            headless: makes the names by which the tasks find each other
//   ConfigMap NAME-cluster    the cluster, once for all: cluster.json; and, if roles may be scaled,
//                             who is absent now: roster; and the job file
//   Secret    NAME-secrets    of a job with secrets that the cluster has not: their values
//   Secret    NAME-files      of a job whose files travel with it and are small: their contents
//   Job       NAME-depot      of a job whose files are larger, or with outputs (pod_depot.h)
//   PodGroup  NAME            of a job whose machines Volcano finds, which alone knows such objects
//   Secret    NAME-token      by which the job's tasks know each other's farewells
//   Job       NAME-ROLE       one per role, indexed: pod I is task I, as NAME-ROLE-I.NAME
//
// A pod knows its role and its index; `millrace join` puts them together with the cluster into
// TF_CONFIG and starts the program. It stays with it, and when the roles of `until` have succeeded,
// or a task has failed, the tasks tell each other and end: no controller, and no right in the
// cluster, is needed for that. So the image holds the program and the `millrace` command. The pods
// pass the Pod Security Standard "restricted".
//
// Pure. Which namespace, which cluster and who applies them is not said here.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"
#include "millrace/launch/kubernetes/pod_files.h"
#include "millrace/launch/secrets.h"

namespace millrace {

// What is drawn anew for each submission of a job.
struct KubernetesDraw {
  std::string token = {};  // nobody guesses it
  std::string run = {};    // a label of all objects; empty: none
  // Of a gang, what stands on its head (gang.h), and its Jobs are suspended; empty: they are not.
  std::string admission = {};
  // Of the job's secrets that are not of the cluster. Without them the objects can be shown.
  SecretValues secrets = {};
  PodFiles files = {};
};

// What the objects carry for those who look at them again (sight.h).
inline constexpr const char* kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr const char* kInstanceLabel = "app.kubernetes.io/instance";
inline constexpr const char* kComponentLabel = "app.kubernetes.io/component";
inline constexpr const char* kRunLabel = "millrace-run";
inline constexpr const char* kQueueLabel = "kueue.x-k8s.io/queue-name";
inline constexpr const char* kRoleAnnotation = "millrace/role";
inline constexpr const char* kOrderAnnotation = "millrace/order";
inline constexpr const char* kDecidesAnnotation = "millrace/decides";
inline constexpr const char* kGraceAnnotation = "millrace/grace";
inline constexpr const char* kMayLoseAnnotation = "millrace/may-lose";
// On a Job that was ended for what had happened elsewhere, by its deadline.
inline constexpr const char* kRestEndedAnnotation = "millrace/rest-ended";
// Beside those of role_sizes.h.

// In the order in which they are to be made. The job passes check() and has a name. Errors:
// INVALID_ARGUMENT for a job without an image, for roles whose names become one in DNS, for what
// pods can't have (a fixed port, volumes by path).
Result<std::vector<nlohmann::ordered_json>> kubernetes_manifests(const JobSpec& job,
                                                                 const KubernetesDraw& draw);

// Of these objects, the Job of a role whose success is the job's: the rest is to be owned by it, so
// that all goes when it goes.
const nlohmann::ordered_json& head_of(const std::vector<nlohmann::ordered_json>& manifests);

bool may_be_scaled(const JobSpec& job);  // some role of it
// It has several tasks, which are to have their machines together, and nobody else sees to that.
bool is_gang(const JobSpec& job);
// Which tasks are absent when each role has `count` (cluster/roster.h).
std::string roster_of(const JobSpec& job);
// The ConfigMap of the job that is called so, and what it has the roster under.
std::string cluster_map_of(const std::string& job);
inline constexpr const char* kRosterKey = "roster";
// And what was submitted, for whoever submits it again.
inline constexpr const char* kJobFileKey = "job.yaml";

// The objects as one file that `kubectl apply -f` takes.
std::string to_yaml_file(const std::vector<nlohmann::ordered_json>& manifests);

// What a role is called in names of DNS: "Parameter_Server" -> "parameter-server".
std::string dns_name_of(const std::string& role);

}  // namespace millrace

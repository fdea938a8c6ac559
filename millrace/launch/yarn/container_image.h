// Tasks in images: what YARN's Docker runtime wants to find in the environment of a container that
// it is to run from one. Pure.
//
//   YARN_CONTAINER_RUNTIME_TYPE=docker
//   YARN_CONTAINER_RUNTIME_DOCKER_IMAGE=example/train:1
//   YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS=/mnt/data:/data:rw,/home/me/jobs:/home/me/jobs:rw
//
// The launcher runs from none. What a container may mount is the administrator's to say; the
// container's own folders are mounted by YARN.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace millrace {

// The role's own image, or the job's; empty: its tasks run on the machine as it is.
const std::string& container_image_of(const JobSpec& job, const RoleSpec& role);

// The job's volumes as mounts, "/mnt/data:/data:rw", with commas between them.
std::string mounts_of(const JobSpec& job);
// One more, of a folder that is found at its own path.
std::string with_folder(std::string mounts, std::string_view folder);

// INVALID_ARGUMENT for volumes of a role without image, or that are no folders of machines.
Status check_images(const JobSpec& job);

std::vector<EnvironmentEntry> environment_of_image(const std::string& image,
                                                   const std::string& mounts);

// Of what YARN says at length of a container that has ended: why it could not be made of its image,
// for people; empty if that was not it.
std::string image_fault(std::string_view diagnostics);

}  // namespace millrace

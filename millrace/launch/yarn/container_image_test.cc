#include "millrace/launch/yarn/container_image.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

using Environment = std::vector<EnvironmentEntry>;

JobSpec in_image() {
  return {.name = "train",
          .roles = {{"ps", 1}, {"worker", 2}},
          .command = {"train"},
          .image = "example/train:1",
          .volumes = {{"/data", "/mnt/data"}, {"/models", "/mnt/models"}}};
}

TEST_CASE("a container of an image says so in its environment, and what it sees of its machine") {
  JobSpec job = in_image();
  job.roles[1].image = "example/gpu:1";
  CHECK(container_image_of(job, job.roles[0]) == "example/train:1");
  CHECK(container_image_of(job, job.roles[1]) == "example/gpu:1");
  CHECK(mounts_of(job) == "/mnt/data:/data:rw,/mnt/models:/models:rw");
  const std::string mounts = with_folder(mounts_of(job), "/home/me");
  CHECK(with_folder(mounts, "/home/me") == mounts);
  CHECK(environment_of_image("example/train:1", mounts) ==
        Environment{{"YARN_CONTAINER_RUNTIME_TYPE", "docker"},
                    {"YARN_CONTAINER_RUNTIME_DOCKER_IMAGE", "example/train:1"},
                    {"YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS",
                     "/mnt/data:/data:rw,/mnt/models:/models:rw,/home/me:/home/me:rw"}});
  CHECK(environment_of_image("example/train:1", "").size() == 2);
  CHECK(environment_of_image("", mounts).empty());
}

TEST_CASE("volumes are folders of machines, for containers that have an image") {
  CHECK(check_images(in_image()).ok());
  JobSpec bare = in_image();
  bare.image = "";
  bare.roles[0].image = "example/train:1";
  CHECK(check_images(bare).message().find("a task of worker has none") != std::string::npos);
  for (const auto& [where, which] :
       {EnvironmentEntry{"/data", "claim"}, {"data", "/mnt"}, {"/da:ta", "/mnt"}, {"/a", "/b,c"}}) {
    JobSpec job = in_image();
    job.volumes = {{where, which}};
    CHECK(check_images(job).code() == Code::invalid_argument);
  }
}

}  // namespace
}  // namespace millrace

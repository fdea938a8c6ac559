#include "millrace/op/device_name.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

std::string canonical(std::string_view text) {
  const auto name = DeviceName::parse(text);
  return name.ok() ? name->to_string() : name.status().message();
}

DeviceName device(std::string_view text) { return DeviceName::parse(text).value(); }

TEST_CASE("every spelling of a device has one canonical form") {
  CHECK(canonical("/job:worker/replica:0/task:3/device:GPU:1") ==
        "/job:worker/replica:0/task:3/device:GPU:1");
  CHECK(canonical("/task:0/job:ps") == "/job:ps/task:0");
  CHECK(canonical("/job:a/job:b/task:1/task:*") == "/job:b");
  CHECK(canonical("/device:CPU") == "/device:CPU:*");
  CHECK(canonical("/device:CPU:*") == "/device:CPU:*");
  CHECK(canonical("/job:ps/device:*") == "/job:ps");
  CHECK(canonical("CPU:0") == "/device:CPU:0");
  CHECK(canonical("device:CPU:0") == "/device:CPU:0");
  CHECK(canonical("/cpu:0") == "/device:CPU:0");
  CHECK(canonical("/GPU:1") == "/device:GPU:1");
  CHECK(canonical("/job:w/replica:0/task:0/cpu:0") == "/job:w/replica:0/task:0/device:CPU:0");
  CHECK(canonical("") == "");
  CHECK(canonical("/") == "");
}

TEST_CASE("what makes no sense in a device name is pointed at") {
  CHECK(canonical("/job:1x") ==
        "device name '/job:1x': 'job:1x' makes no sense; expected a letter, then letters, digits "
        "and _, or *");
  CHECK(canonical("/task:-1") ==
        "device name '/task:-1': 'task:-1' makes no sense; expected a number or *");
  CHECK(
      canonical("/task:99999999999") ==
      "device name '/task:99999999999': 'task:99999999999' makes no sense; expected a number or *");
  CHECK_FALSE(DeviceName::parse("/job:a//task:0").ok());
  CHECK_FALSE(DeviceName::parse("/task:").ok());
  CHECK_FALSE(DeviceName::parse("/task:0x").ok());
  CHECK_FALSE(DeviceName::parse("/jobs:a").ok());
  CHECK_FALSE(DeviceName::parse("job:a/task:0").ok());
  CHECK_FALSE(DeviceName::parse("/job:a/").ok());
}

TEST_CASE("job names differ by case, device types too but for the legacy spellings") {
  CHECK_FALSE(device("/job:PS").is_compatible_with(device("/job:ps")));
  CHECK_FALSE(device("/device:Cpu:0").is_compatible_with(device("/device:CPU:0")));
  CHECK(device("/gpu:0") == device("/device:GPU:0"));
}

TEST_CASE("parts that either side leaves open do not contradict") {
  CHECK(device("/job:ps").is_compatible_with(device("/task:1")));
  CHECK_FALSE(device("/job:ps/task:0").is_compatible_with(device("/task:1")));
  CHECK(device("/job:ps").matches(device("/job:ps/replica:0/task:1/device:CPU:0")));
  CHECK_FALSE(device("/job:ps/task:0").matches(device("/job:ps")));
}

TEST_CASE("an inner scope's parts win over the outer scope's") {
  CHECK(device("/job:ps/device:GPU:1").overridden_by(device("/task:2/device:CPU:0")).to_string() ==
        "/job:ps/task:2/device:CPU:0");
}

TEST_CASE("a device on a task is a full name and gives the task back") {
  const DeviceName name = DeviceName::on({.job = "worker", .replica = 0, .task = 3});
  CHECK(name.is_full());
  CHECK(name.to_string() == "/job:worker/replica:0/task:3/device:CPU:0");
  CHECK(name.task_name().to_string() == "/job:worker/replica:0/task:3");
}

}  // namespace
}  // namespace millrace

#include "millrace/plan/device_set.h"

#include "doctest/doctest.h"

namespace millrace {
namespace {

TEST_CASE("GPUs come first, then the master's own, then names") {
  const auto set =
      DeviceSet::create({{"/job:b/replica:0/task:0/device:CPU:0", 3, Locality::remote},
                         {"/job:c/replica:0/task:0/device:CPU:0", 1, Locality::local_to_master},
                         {"/job:a/replica:0/task:1/device:CPU:0", 4, Locality::remote},
                         {"/job:a/replica:0/task:1/device:GPU:0", 2, Locality::remote}});
  REQUIRE(set.ok());
  std::vector<uint64_t> order;
  for (const Device& device : set->devices()) order.push_back(device.incarnation);
  CHECK(order == std::vector<uint64_t>{2, 1, 4, 3});
  CHECK(set->find("/job:b/replica:0/task:0/device:CPU:0")->task == 1);
  CHECK(set->incarnation("/job:a/replica:0/task:1/device:CPU:0") == 4);
  CHECK(set->incarnation("/job:z/replica:0/task:1/device:CPU:0") == 0);
}

TEST_CASE("devices that make no sense are refused") {
  const auto refuse = [](std::vector<DeviceSet::Entry> entries) {
    return DeviceSet::create(entries).status().code() == Code::invalid_argument;
  };
  CHECK(refuse({}));
  CHECK(refuse({{"/job:a", 1}}));
  CHECK(refuse({{"nonsense/", 1}}));
  CHECK(
      refuse({{"/job:a/replica:0/task:0/device:CPU:0", 1}, {"/job:a/task:0/replica:0/cpu:0", 2}}));
}

}  // namespace
}  // namespace millrace

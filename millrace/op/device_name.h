// Names of devices and tasks: "/job:worker/replica:0/task:3/device:CPU:0", whole or in part.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

// A task of a cluster. Replica is 0 unless one task entry lists several hosts.
struct TaskName {
  std::string job = "localhost";
  int replica = 0;
  int task = 0;

  // "/job:worker/replica:0/task:3"
  std::string to_string() const;
  friend auto operator<=>(const TaskName&, const TaskName&) = default;
};

// What is said about a device; a part that is not set places no constraint. A name with every part
// set names exactly one device.
struct DeviceName {
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  // "CPU", "GPU" …
  std::optional<int> id;

  // Accepts the components /job: /replica: /task: /device: in any order (the last of a kind wins),
  // "*" for "any", the empty string and "/", "CPU:0" and "device:CPU:0" without a slash, and the
  // legacy /cpu:0, /CPU:0, /gpu:0, /GPU:0.
  // Errors: INVALID_ARGUMENT naming the piece that makes no sense.
  static Result<DeviceName> parse(std::string_view text);
  static DeviceName on(const TaskName& task, std::string type = "CPU", int id = 0);

  bool is_full() const { return job && replica && task && type && id; }
  bool names_task() const { return job && replica && task; }
  bool is_empty() const { return !job && !replica && !task && !type && !id; }
  // The task part. Requires names_task().
  TaskName task_name() const { return {*job, *replica, *task}; }

  // True if no part contradicts `other` (parts that either leaves open match).
  bool is_compatible_with(const DeviceName& other) const;
  // True if every part set here is set to the same in `full`.
  bool matches(const DeviceName& full) const;
  // `inner` over this: what `inner` sets wins. How nested device scopes combine.
  DeviceName overridden_by(const DeviceName& inner) const;

  // Canonical: "/job:ps/replica:0/task:1/device:CPU:0", parts that are not set left out
  // ("/device:CPU:*" when only the type is set).
  std::string to_string() const;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

}  // namespace millrace

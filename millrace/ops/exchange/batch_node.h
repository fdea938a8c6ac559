// What Batch and BatchFunction nodes have in common: how they find their batcher.
#pragma once

#include <memory>
#include <string>

#include "millrace/ops/exchange/batcher.h"
#include "millrace/ops/state/resource_access.h"

namespace millrace {

// The time of the device that a kernel runs on; null if nobody has told it.
std::shared_ptr<const DeviceTime> time_of(KernelContext& context);

class BatchNode {
 public:
  // Errors: INVALID_ARGUMENT for rules that contradict themselves.
  static Result<std::unique_ptr<BatchNode>> read(const KernelSpec& spec);
  BatchNode(BatchRules rules, ResourceName name, std::string line)
      : rules_(std::move(rules)), name_(std::move(name)), line_(std::move(line)) {}

  // The batcher that nodes of its name share. Whoever comes first makes it, by its rules.
  Result<std::shared_ptr<Batcher>> batcher(KernelContext& context);
  // Where in it the node's tasks stand.
  const std::string& line() const { return line_; }

 private:
  const BatchRules rules_;
  const ResourceName name_;
  const std::string line_;
  CachedResource<Batcher> found_;
};

}  // namespace millrace

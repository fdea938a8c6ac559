#include "millrace/cluster/members.h"

#include <utility>

namespace millrace {
namespace {

class ConstantMembers final : public Members {
 public:
  explicit ConstantMembers(ClusterSpec cluster) : cluster_(std::move(cluster)) {}

  std::vector<Member> list() const override {
    std::vector<Member> all;
    for (const TaskName& task : cluster_.tasks())
      all.push_back({task, cluster_.address(task).value()});
    return all;
  }
  Result<std::string> address(const TaskName& task) const override {
    return cluster_.address(task);
  }
  bool has_ended(const TaskName&) const override { return false; }
  uint64_t generation() const override { return 0; }
  TaskWatch watch(std::function<void(const TaskName&)>) override { return nullptr; }
  Status serves(const TaskName& task, const std::string& address) override {
    MR_ASSIGN(const std::string known, cluster_.address(task));
    if (known == address) return {};
    return failed_precondition(task.to_string(), " listens at ", address, ", but the cluster says ",
                               known, ", and its addresses do not change");
  }

 private:
  const ClusterSpec cluster_;
};

}  // namespace

std::shared_ptr<Members> constant_members(ClusterSpec cluster) {
  return std::make_shared<ConstantMembers>(std::move(cluster));
}

}  // namespace millrace

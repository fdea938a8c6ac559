#include "millrace/worker/collective_words.h"

#include <span>
#include <utility>
#include <vector>

#include "millrace/base/str_cat.h"

namespace millrace::collective_words {

Tensor encoded(const CollectiveGroup& group) {
  std::vector<std::string> words{group.epoch};
  for (const GroupMember& member : group.members)
    words.push_back(
        str_cat(absl::Hex(member.incarnation), " ", member.machine, " ", member.device));
  return Tensor::vector<std::string>(std::span<const std::string>(words));
}

Tensor encoded(int rank) { return Tensor::scalar(int32_t{rank}); }

Result<std::shared_ptr<const CollectiveGroup>> decoded(int64_t key, const Tensor& tensor) {
  const Status bad = internal("the leader of group ", key, " answered with no list of members");
  if (tensor.dtype() != DType::string || tensor.num_elements() < 1) return bad;
  const auto words = tensor.flat<std::string>();
  auto group = std::make_shared<CollectiveGroup>();
  group->key = key;
  group->epoch = words[0];
  if (group->epoch.empty()) return bad;
  for (const std::string& word : words.subspan(1)) {
    const size_t space = word.find(' ');
    const size_t second = word.find(' ', space + 1);
    GroupMember member;
    const auto [stop, problem] = std::from_chars(
        word.data(), word.data() + std::min(space, word.size()), member.incarnation, 16);
    if (second == std::string::npos || problem != std::errc() || stop != word.data() + space)
      return bad;
    member.machine = word.substr(space + 1, second - space - 1);
    member.device = word.substr(second + 1);
    group->members.push_back(std::move(member));
  }
  return std::shared_ptr<const CollectiveGroup>(std::move(group));
}

}  // namespace millrace::collective_words

#include "millrace/graph/node_kind.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

#include "millrace/graph/typing.h"
#include "millrace/op/attr_identity.h"

namespace millrace {
namespace {

// Larger constants are rarely the same, and would have to be read to find out.
constexpr size_t kMostBytes = 64;

bool is_small(const Attrs::Entry& entry) {
  const Tensor* tensor = entry.second.as_tensor();
  return !tensor || (is_plain(tensor->dtype()) && tensor->num_bytes() <= kMostBytes);
}

bool is_worth_sharing(const Attrs& attrs) {
  return std::ranges::all_of(attrs, is_small) && can_be_identical(attrs);
}

Result<NodeKinds::Shared> make_kind(const OpDef& op, Attrs attrs) {
  auto made = std::make_shared<NodeKind>();
  MR_TRY(check_attrs(op, attrs));
  MR_TRY(resolve_types(op, op.inputs, attrs, &made->input_types));
  MR_TRY(resolve_types(op, op.outputs, attrs, &made->output_types));
  made->attrs = std::move(attrs);
  return NodeKinds::Shared(std::move(made));
}

}  // namespace

Result<NodeKinds::Shared> NodeKinds::of(const OpDef& op, Attrs attrs) {
  if (!is_worth_sharing(attrs)) return make_kind(op, std::move(attrs));
  const Key key(&op, hash_of(attrs));
  const auto found = kinds_.find(key);
  if (found != kinds_.end() && are_identical(found->second->attrs, attrs)) return found->second;
  MR_ASSIGN(Shared made, make_kind(op, std::move(attrs)));
  kinds_.try_emplace(key, made);
  return made;
}

NodeKinds::Shared NodeKinds::of(const OpDef& op, const Shared& kind) {
  if (!is_worth_sharing(kind->attrs)) return kind;
  const Shared& first = kinds_.try_emplace({&op, hash_of(kind->attrs)}, kind).first->second;
  return are_identical(first->attrs, kind->attrs) ? first : kind;
}

void NodeKinds::forget_unused() {
  constexpr size_t kFew = 64;
  if (kinds_.size() <= 2 * num_used_ + kFew) return;
  absl::erase_if(kinds_, [](const auto& entry) { return entry.second.use_count() == 1; });
  num_used_ = kinds_.size();
}

}  // namespace millrace

#include "millrace/ops/state/kept_replay.h"

#include <algorithm>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

Status impossible(const KeptName& name, std::string_view what) {
  return error(Code::data_loss, "the record of '", name.name, "' in container '", name.container,
               "' ", what);
}

}  // namespace

Status KeptReplay::apply(std::string_view bytes) {
  MR_ASSIGN(KeptRecord record, decode_kept(bytes));
  return std::visit([this](auto& each) { return apply(std::move(each)); }, record);
}

Status KeptReplay::apply(KeptVariable variable) {
  const Tensor& value = variable.value;
  if (variable.dtype == DType::invalid || (value.has_value() && value.dtype() != variable.dtype))
    return impossible(variable.name, "has a value of another type than the variable");
  variables_.insert_or_assign(variable.name, std::move(variable));
  return {};
}

Status KeptReplay::apply(KeptQueue queue) {
  if (queue.spec.types.empty()) return impossible(queue.name, "has no components");
  QueueState& state = queues_[queue.name];
  state.queue = std::move(queue);
  return {};
}

Result<KeptReplay::QueueState*> KeptReplay::queue_of(const KeptName& name) {
  const auto found = queues_.find(name);
  if (found == queues_.end()) return impossible(name, "is of a queue that is not there");
  return &found->second;
}

Status KeptReplay::apply(KeptIn in) {
  MR_ASSIGN(QueueState* const state, queue_of(in.name));
  const std::vector<DType>& types = state->queue.spec.types;
  const bool fits =
      std::equal(in.element.begin(), in.element.end(), types.begin(), types.end(),
                 [](const Tensor& tensor, DType type) { return tensor.dtype() == type; });
  if (!fits) return impossible(in.name, "has other components than the queue");
  if (!state->elements.emplace(in.number, std::move(in.element)).second)
    return impossible(in.name, str_cat("puts element ", in.number, " in twice"));
  state->queue.next_number = std::max(state->queue.next_number, in.number + 1);
  return {};
}

Status KeptReplay::apply(const KeptOut& gone) {
  MR_ASSIGN(QueueState* const state, queue_of(gone.name));
  for (const uint64_t number : gone.numbers) {
    if (state->elements.erase(number) == 0)
      return impossible(gone.name, str_cat("takes element ", number, ", which is not there"));
  }
  return {};
}

Status KeptReplay::apply(const KeptDropped& dropped) {
  const bool was_there = dropped.kind == KeptKind::queue ? queues_.erase(dropped.name) > 0
                                                         : variables_.erase(dropped.name) > 0;
  return was_there ? Status() : impossible(dropped.name, "drops what is not there");
}

}  // namespace millrace

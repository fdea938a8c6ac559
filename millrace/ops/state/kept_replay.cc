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
  return std::visit([this](auto& each) { return this->apply(std::move(each)); }, record);
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
  size_t were_there = 0;
  if (dropped.kind == KeptKind::queue) were_there = queues_.erase(dropped.name);
  if (dropped.kind == KeptKind::variable) were_there = variables_.erase(dropped.name);
  if (dropped.kind == KeptKind::applied) were_there = books_.erase(dropped.name.device);
  return were_there > 0 ? Status() : impossible(dropped.name, "drops what is not there");
}

Status KeptReplay::apply(KeptLent lent) {
  MR_ASSIGN(QueueState* const state, queue_of(lent.name));
  const LeaseBook::Kept& book = lent.loans.book;
  const bool is_in_order =
      std::ranges::is_sorted(book.open, std::ranges::less(), &LeaseBook::Kept::Open::number) &&
      std::ranges::is_sorted(book.dead);
  const bool is_below =
      std::ranges::all_of(book.open, [&](const auto& each) { return each.number < book.next; }) &&
      std::ranges::all_of(book.dead, [&](uint64_t number) { return number < book.next; });
  if (lent.loans.incarnation == 0 || book.next == 0 || !is_in_order || !is_below)
    return impossible(lent.name, "tells of leases that nobody gives");
  state->loans = std::move(lent.loans);
  return {};
}

Status KeptReplay::apply(const KeptApplied& applied) {
  if (applied.part.queue == 0 || !std::ranges::is_sorted(applied.part.open))
    return impossible(applied.name, "tells of updates under no lease");
  books_[applied.name.device].put_back(applied.part);
  return {};
}

Status KeptReplay::apply(const KeptMade& made) {
  if (made.update.queue == 0) return impossible(made.name, "tells of an update under no lease");
  books_[made.name.device].note_applied(made.update);
  return {};
}

Status KeptReplay::apply(const KeptIdentity& identity) {
  if (identity.identity == 0) return impossible(identity.name, "tells of no identity");
  identity_ = identity.identity;
  return {};
}

Status KeptReplay::apply(const KeptReign& reign) {
  // Whose the state is, is for the task to know that follows it (session/standby_store.h).
  return reign.since != 0 ? Status() : impossible(reign.name, "tells of no reign");
}

Status KeptReplay::check() const {
  for (const auto& [name, state] : queues_) {
    for (const std::vector<uint64_t>& numbers : {state.loans.elements, state.loans.dead}) {
      for (const uint64_t number : numbers) {
        if (!state.elements.contains(number))
          return impossible(name, str_cat("has lent element ", number, ", which is not there"));
      }
    }
  }
  return {};
}

}  // namespace millrace

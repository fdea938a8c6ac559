#include "millrace/plan/spec_table.h"

#include <string>

namespace millrace {
namespace {

// Merges one part of a specification into `into`; false if they differ.
template <class T>
bool merge_part(std::optional<T>& into, const std::optional<T>& from) {
  if (!from || into == from) return true;
  if (into) return false;
  into = from;
  return true;
}

Status differ(std::string_view part, const DeviceName& a, const DeviceName& b) {
  return invalid("Cannot merge devices with incompatible ", part, ": '", a.to_string(), "' and '",
                 b.to_string(), "'");
}

}  // namespace

Result<DeviceName> merge_specs(const DeviceName& a, const DeviceName& b, TypeConflict conflict) {
  DeviceName merged = a;
  if (!merge_part(merged.job, b.job)) return differ("jobs", a, b);
  if (!merge_part(merged.replica, b.replica)) return differ("replicas", a, b);
  if (!merge_part(merged.task, b.task)) return differ("tasks", a, b);
  if (!merge_part(merged.type, b.type)) {
    if (conflict == TypeConflict::refuse) return differ("types", a, b);
    merged.type.reset();
    merged.id.reset();  // an id means nothing without its type
    return merged;
  }
  if (!merge_part(merged.id, b.id)) {
    if (conflict == TypeConflict::refuse) return differ("ids", a, b);
    merged.id.reset();
  }
  return merged;
}

Result<SpecId> SpecTable::parse(std::string_view text) {
  if (text.empty()) return kAnywhere;
  const auto known = by_text_.find(to_absl(text));
  if (known != by_text_.end()) return known->second.id;
  MR_ASSIGN(const DeviceName spec, DeviceName::parse(text));
  const SpecId id = add(spec);
  by_text_.emplace(text, Written{id, by_text_.size()});
  return id;
}

void SpecTable::rewind(Mark mark) {
  if (by_text_.size() > mark.texts) {
    absl::erase_if(by_text_, [&](const auto& text) { return text.second.number >= mark.texts; });
  }
  if (specs_.size() <= mark.specs) return;
  const auto is_gone = [&](SpecId id) { return id >= mark.specs; };
  absl::erase_if(by_name_, [&](const auto& name) { return is_gone(name.second); });
  absl::erase_if(merged_, [&](const auto& merge) {
    const auto& [pair, result] = merge;
    return is_gone(pair.first) || is_gone(pair.second) || (result.ok() && is_gone(*result));
  });
  specs_.resize(mark.specs);
}

SpecId SpecTable::add(const DeviceName& spec) {
  if (spec.is_empty()) return kAnywhere;
  const auto [at, is_new] = by_name_.emplace(spec.to_string(), static_cast<SpecId>(specs_.size()));
  if (is_new) specs_.push_back(spec);
  return at->second;
}

Result<SpecId> SpecTable::merge(SpecId a, SpecId b) {
  if (a == b || b == kAnywhere) return a;
  if (a == kAnywhere) return b;
  const std::pair key(a, b);
  const auto known = merged_.find(key);
  if (known != merged_.end()) return known->second;
  const Result<DeviceName> merged = merge_specs(specs_[a], specs_[b], conflict_);
  Result<SpecId> id = merged.ok() ? Result<SpecId>(add(*merged)) : merged.status();
  merged_.emplace(key, id);
  return id;
}

}  // namespace millrace

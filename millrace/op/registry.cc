#include "millrace/op/registry.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"

#include "millrace/base/shown.h"
#include "millrace/op/signature.h"

namespace millrace {
namespace {

// The least number of letters to insert, drop or change to get from one word to the other, letters
// compared without case.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool equal = absl::ascii_tolower(a[i - 1]) == absl::ascii_tolower(b[j - 1]);
      const size_t changed = diagonal + (equal ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

Status OpRegistry::add(OpDef op) {
  if (op.name.empty()) return invalid("an op without a name can't be registered");
  if (ops_.contains(op.name))
    return error(Code::already_exists, "op '", op.name, "' is registered twice");
  std::string name = op.name;
  auto entry = std::make_unique<Entry>();
  entry->op = std::move(op);
  if (!leaves_unread_) MR_TRY(read(*entry));
  ops_.emplace(std::move(name), std::move(entry));
  return {};
}

Status OpRegistry::read(Entry& entry) const {
  if (entry.is_read.load(std::memory_order_acquire)) return {};
  MutexLock lock(mutex_);
  if (entry.is_read.load(std::memory_order_relaxed)) return {};
  MR_TRY(parse_signature(entry.op));
  entry.is_read.store(true, std::memory_order_release);
  return {};
}

Status OpRegistry::check() const {
  for (const auto& [name, entry] : ops_) MR_TRY(read(*entry));
  return {};
}

Status OpRegistry::add_kernel(std::string_view op, std::string device_type, KernelFactory make) {
  const auto found = ops_.find(to_absl(op));
  if (found == ops_.end())
    return error(Code::not_found, "there is no op '", op, "' to add a ", device_type, " kernel to");
  OpDef& def = found->second->op;
  if (def.kernel_for(device_type) != nullptr) {
    return error(Code::already_exists, "op '", op, "' has a kernel for ", device_type, " already");
  }
  def.kernels.push_back({std::move(device_type), std::move(make)});
  return {};
}

const OpDef* OpRegistry::find(std::string_view name) const {
  const auto found = ops_.find(to_absl(name));
  return found != ops_.end() && read(*found->second).ok() ? &found->second->op : nullptr;
}

Result<const OpDef*> OpRegistry::foreign(OpDef op) const {
  constexpr size_t kMostBytes = size_t{1}
                                << 20;  // of keys: what they tell of takes some times that
  std::string key = op.name;
  for (const auto* args : {&op.inputs, &op.outputs}) {
    key += " (";
    for (const ArgDef& arg : *args)
      str_append(&key, dtype_name(arg.dtype), arg.is_ref ? "_ref" : "", " ");
  }
  MutexLock lock(mutex_);
  const auto found = foreign_.find(key);
  if (found != foreign_.end()) return found->second.get();
  if (foreign_bytes_ + key.size() > kMostBytes) {
    return error(Code::resource_exhausted, "Op type not registered '", shown(op.name),
                 "', and graphs have used too many others that are not: start this task again, or "
                 "send graphs with such ops to a task that has them");
  }
  foreign_bytes_ += key.size();
  op.is_foreign = true;
  return foreign_.emplace(std::move(key), std::make_unique<OpDef>(std::move(op)))
      .first->second.get();
}

std::vector<const OpDef*> OpRegistry::all() const {
  std::vector<const OpDef*> ops;
  ops.reserve(ops_.size());
  for (const auto& [name, entry] : ops_)
    if (read(*entry).ok()) ops.push_back(&entry->op);
  std::sort(ops.begin(), ops.end(),
            [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return ops;
}

std::vector<std::string> OpRegistry::suggestions(std::string_view name) const {
  constexpr size_t kMostLetters = 64;  // names of ops are short; a hostile one costs nothing
  constexpr size_t kMostSuggestions = 3;
  if (name.empty() || name.size() > kMostLetters) return {};
  std::vector<std::pair<size_t, std::string>> close;
  for (const auto& [known, entry] : ops_) {
    const size_t distance = edit_distance(name, known);
    if (distance <= std::max<size_t>(1, name.size() / 3)) close.emplace_back(distance, known);
  }
  std::sort(close.begin(), close.end());
  if (close.size() > kMostSuggestions) close.resize(kMostSuggestions);
  std::vector<std::string> names;
  for (auto& [distance, known] : close) names.push_back(std::move(known));
  return names;
}

}  // namespace millrace

#include "millrace/api/surroundings.h"

#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {

std::string device_text(DeviceName device) {
  if (!device.type) device.id.reset();
  return device.to_string();
}

DeviceStack DeviceStack::with(Entry entry) const {
  auto entries = std::make_shared<std::vector<Entry>>(this->entries());
  entries->push_back(std::move(entry));
  DeviceStack made;
  DeviceName said;
  for (auto at = entries->rbegin(); at != entries->rend() && at->kind != Entry::Kind::reset; ++at) {
    made.asks_functions_ |= at->kind == Entry::Kind::function;
    said = at->spec.overridden_by(said);
  }
  if (!made.asks_functions_) made.text_ = device_text(said);
  made.entries_ = std::move(entries);
  return made;
}

const std::vector<DeviceStack::Entry>& DeviceStack::entries() const {
  static const std::vector<Entry> kNone;
  return entries_ ? *entries_ : kNone;
}

std::string Surroundings::inside(std::string_view name) const {
  return name_scope.empty() ? std::string(name) : str_cat(name_scope, "/", name);
}

}  // namespace millrace

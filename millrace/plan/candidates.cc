#include "millrace/plan/candidates.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr std::string_view kParameterServers = "ps";  // the job, as all programs call it

DeviceName without_type(DeviceName spec) {
  spec.type.reset();
  spec.id.reset();
  return spec;
}

}  // namespace

const std::vector<uint32_t>& Candidates::of(const GroupNeeds& needs) {
  const auto [at, is_new] =
      known_.try_emplace(std::make_tuple(needs.requested, needs.resource, needs.support));
  if (!is_new) return at->second;
  const DeviceName& requested = specs_[needs.requested];
  const DeviceName& resource = specs_[needs.resource];
  std::vector<uint32_t> found = matching(requested.overridden_by(resource), needs.support);
  if (found.empty() && options_.allow_soft_placement) {
    found = matching(without_type(requested).overridden_by(resource), needs.support);
  }
  if (found.empty() && options_.allow_soft_placement) {
    found = matching(without_type(requested).overridden_by(without_type(resource)), needs.support);
  }
  return at->second = std::move(found);
}

bool Candidates::allow(const GroupNeeds& needs, uint32_t device) {
  const std::vector<uint32_t>& allowed = of(needs);
  return std::ranges::find(allowed, device) != allowed.end();
}

std::optional<uint32_t> Candidates::parameter_server(const GroupNeeds& needs) {
  std::optional<uint32_t> first;
  for (const uint32_t device : of(needs)) {
    const DeviceName& name = devices_.devices()[device].name;
    if (*name.job != kParameterServers) continue;
    // Of one task the preferred device comes first.
    if (!first || *name.task < *devices_.devices()[*first].name.task) first = device;
  }
  return first;
}

std::vector<uint32_t> Candidates::matching(const DeviceName& spec, Support support) const {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < devices_.devices().size(); ++i) {
    const DeviceName& name = devices_.devices()[i].name;
    const bool is_supported = support == Support::any_type || *name.type == "CPU";
    if (is_supported && spec.matches(name)) found.push_back(i);
  }
  return found;
}

}  // namespace millrace

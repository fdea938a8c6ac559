#include "millrace/cluster/capabilities.h"

#include <array>
#include <string_view>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr std::array<std::pair<Capability, std::string_view>, 5> kCapabilityNames = {{
    {Capability::tensor_parts, "tensor parts"},
    {Capability::dead_values, "dead values"},
    {Capability::error_details, "error details"},
    {Capability::departures, "departures"},
    {Capability::answers_at_once, "answers at once"},
}};

}  // namespace

Capabilities Capabilities::own() {
  Capabilities all;
  for (const auto& [one, name] : kCapabilityNames) all.bits_ |= bit(one);
  return all;
}

Capabilities Capabilities::from_bits(uint64_t bits) {
  Capabilities some;
  some.bits_ = bits;
  return some;
}

std::string Capabilities::to_string() const {
  std::string text;
  for (const auto& [one, name] : kCapabilityNames)
    if (has(one)) str_append(&text, text.empty() ? "" : ", ", name);
  return text.empty() ? "none" : text;
}

}  // namespace millrace

// SpecTable: partial device names as small numbers, so that merging those of a million nodes takes
// a million table look-ups and a handful of merges. Part of placement.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/result.h"
#include "millrace/op/device_name.h"

namespace millrace {

using SpecId = uint32_t;

// What happens when two specifications name different types or ids. (Different jobs, replicas or
// tasks are always an error.)
enum class TypeConflict : uint8_t { refuse, clear };

// What both specifications say.
// Errors: INVALID_ARGUMENT "Cannot merge devices with incompatible …".
Result<DeviceName> merge_specs(const DeviceName& a, const DeviceName& b, TypeConflict conflict);

class SpecTable {
 public:
  static constexpr SpecId kAnywhere = 0;

  explicit SpecTable(TypeConflict conflict) : conflict_(conflict), specs_(1) {}

  // Errors: INVALID_ARGUMENT for text that is no device name.
  Result<SpecId> parse(std::string_view text);
  SpecId add(const DeviceName& spec);
  Result<SpecId> merge(SpecId a, SpecId b);
  const DeviceName& operator[](SpecId id) const { return specs_[id]; }

  // What is known by now, and a way back to it.
  struct Mark {
    size_t specs = 1;
    size_t texts = 0;
  };
  Mark mark() const { return {specs_.size(), by_text_.size()}; }
  void rewind(Mark mark);

 private:
  const TypeConflict conflict_;
  std::vector<DeviceName> specs_;  // the first one is empty
  struct Written {
    SpecId id = kAnywhere;
    size_t number = 0;  // of texts that came before
  };
  absl::flat_hash_map<std::string, Written> by_text_;  // as clients write them
  absl::flat_hash_map<std::string, SpecId> by_name_;   // canonical
  absl::flat_hash_map<std::pair<SpecId, SpecId>, Result<SpecId>> merged_;
};

}  // namespace millrace

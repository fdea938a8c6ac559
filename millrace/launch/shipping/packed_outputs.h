// Outputs of a job that were collected in a folder (published_outputs.h), as files that go on from
// there: a pack for each task, known by its digest, and a list of them. Blocks as files do.
//
//   map_1        file 3 0 part-0     the lines of file_calls.h, each with its bytes behind it
//                (3 bytes)
//                done
//
//   the list     2cf2… 31 map_1      digest, size, task; sorted
//                all
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/shipping/published_outputs.h"

namespace millrace {

struct PackedOutputs {
  std::string name = {};  // "map_1"
  uint64_t size = 0;
  std::string digest = {};
  friend bool operator==(const PackedOutputs&, const PackedOutputs&) = default;
};

// Packs each task's folder in `collected` into a file of its name in `packs`, and removes it there:
// what is packed does not need room twice. None is fine. Errors: UNAVAILABLE with what the system
// says; those of find_outputs().
Result<std::vector<PackedOutputs>> pack_outputs(const std::string& collected,
                                                const std::string& packs);

std::string to_text(const std::vector<PackedOutputs>& packed);
// Errors: DATA_LOSS for what is no whole list, or has a name that would lead elsewhere.
Result<std::vector<PackedOutputs>> parse_packed(std::string_view text);

// Puts what is in the pack at `path` into <directory>/<name>, whole or not at all. Errors:
// DATA_LOSS for a pack that is another than the list says, or none; those of OutputDelivery.
Status unpack_outputs(const std::string& path, const PackedOutputs& packed,
                      const std::string& directory, const OutputLimits& limits = {});

}  // namespace millrace

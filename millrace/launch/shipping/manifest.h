// What travels with a job, by content: a line of JSON, itself known by its digest, which a task has
// from who started it. Whoever has that digest needs to trust nobody for the rest.
//
//   {"millrace_files": 1,
//    "files": [{"name": "env.tar.gz", "kind": "archive", "size": 5, "executable": false,
//               "sha256": "2cf2…"}],
//    "outputs": {"map": ["part-*"]}}
//
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

struct ShippedFile {
  // A file lies in a task's folder by its name; an archive is unpacked where placed_as() says;
  // programs are an archive of them, for the folder kProgramsFolder.
  enum class Kind : uint8_t { file, archive, programs };
  std::string name = {};
  Kind kind = Kind::file;
  uint64_t size = 0;
  bool is_executable = false;
  std::string digest = {};
  friend bool operator==(const ShippedFile&, const ShippedFile&) = default;
};

// Where it lies in a task's folder: "env", "train.py", "programs".
std::string place_of(const ShippedFile& file);

struct Manifest {
  std::vector<ShippedFile> files = {};
  std::map<std::string, std::vector<std::string>> outputs = {};  // by role: patterns
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

inline constexpr uint64_t kLongestManifest = uint64_t{4} << 20;

std::string to_text(const Manifest& manifest);
// Errors: INVALID_ARGUMENT for what is none; for a name that would lead out of a task's folder, or
// is there twice.
Result<Manifest> parse_manifest(std::string_view text);

}  // namespace millrace

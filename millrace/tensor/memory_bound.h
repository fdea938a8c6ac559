// MemoryBound: how much memory this process can get. The smallest of what the machine has, of what
// the control groups that it is in allow (version 1 or 2, from its own up to the root), and of its
// limit of address space. The system may grant more than there is and end the process when it is
// used; who knows the bound can say no before.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>

namespace millrace {

struct MemoryBound {
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  size_t bytes = kNone;
  std::string source = "nothing";  // whose limit it is, for errors: "the machine's memory (…)"

  // For tests: `root` is where /proc and /sys are looked for, kNone is no limit of address space.
  static MemoryBound read(const std::filesystem::path& root, size_t address_space);
  static MemoryBound of_process();
};

}  // namespace millrace

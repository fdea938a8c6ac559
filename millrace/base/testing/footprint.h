// What this process holds at the moment. Used by the tests that nothing is left behind: they take
// it before and after many repetitions. Reads /proc; not for hot paths.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>

namespace millrace {

struct Footprint {
  size_t resident_bytes = 0, threads = 0, descriptors = 0;

  static Footprint now() {
    const auto entries = [](const char* folder) {
      return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
    };
    std::ifstream statm("/proc/self/statm");
    size_t total_pages = 0, resident_pages = 0;
    statm >> total_pages >> resident_pages;
    return {resident_pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)), entries("/proc/self/task"),
            entries("/proc/self/fd")};
  }
};

}  // namespace millrace

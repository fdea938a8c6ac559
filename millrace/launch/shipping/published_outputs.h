// At the launcher: the outputs of one task on their way into <directory>/map_1/. They gather in a
// folder beside it that has a point before its name, and become it whole, or not at all; what was
// there before, of an earlier attempt or run, goes. Blocks as files do. Moves; what was not
// published is removed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/shipping/file_calls.h"

namespace millrace {

// Of one task.
struct OutputLimits {
  uint64_t most_files = 10'000;
  uint64_t most_bytes = uint64_t{16} << 30;
};

class OutputDelivery {
 public:
  // Makes the directory if it is missing. Errors of all: UNAVAILABLE with what the system says.
  static Result<OutputDelivery> begin(const std::string& directory, const std::string& name,
                                      const OutputLimits& limits);

  OutputDelivery(OutputDelivery&& other) noexcept
      : target_(std::move(other.target_)),
        folder_(std::exchange(other.folder_, "")),
        limits_(other.limits_),
        num_files_(other.num_files_),
        num_bytes_(other.num_bytes_) {}
  OutputDelivery& operator=(OutputDelivery&&) = delete;
  ~OutputDelivery();

  // A new file for it. Errors: RESOURCE_EXHAUSTED with the limit; INVALID_ARGUMENT for a path that
  // is there already.
  Result<Descriptor> create(const PutOutput& output);
  Status publish();

  uint64_t num_files() const { return num_files_; }
  uint64_t num_bytes() const { return num_bytes_; }
  const std::string& target() const { return target_; }

 private:
  OutputDelivery(std::string target, std::string folder, const OutputLimits& limits)
      : target_(std::move(target)), folder_(std::move(folder)), limits_(limits) {}

  std::string target_;
  std::string folder_;  // empty: there is nothing to remove
  OutputLimits limits_;
  uint64_t num_files_ = 0;
  uint64_t num_bytes_ = 0;
};

// "12 files, 3.4 MiB"
std::string amount_text(uint64_t num_files, uint64_t num_bytes);

}  // namespace millrace

// What a depot is told and tells (depot.h), from the side of whoever submitted the job: the pipes
// in between are somebody else's, and bytes come as they come.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/shipping/published_outputs.h"
#include "millrace/launch/shipping/shipment.h"

namespace millrace {

// All of it, the manifest last. Errors: those of the sink; UNAVAILABLE with what the system says.
Status send_to_depot(const Shipment& shipment, const std::function<Status(std::string_view)>& sink);

// Puts what a depot gives into folders below a directory, each whole or not at all. Blocks as files
// do. An error ends it.
class OutputReader {
 public:
  explicit OutputReader(std::string output_dir) : output_dir_(std::move(output_dir)) {}

  // The bytes that come next. Errors: INVALID_ARGUMENT for what no depot says; those of
  // OutputDelivery.
  Status feed(std::string_view bytes);
  // All has come, and is where it is to be.
  bool is_over() const { return is_over_; }
  // "map_1: 12 files, 3.4 MiB", of each task.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Status take_line(std::string_view line);

  const std::string output_dir_;
  std::string unread_;
  std::string task_;
  std::optional<OutputDelivery> delivery_;
  std::optional<Descriptor> file_;
  uint64_t file_left_ = 0;
  bool is_over_ = false;
  std::vector<std::string> notes_;
};

}  // namespace millrace

#include "millrace/launch/shipping/depot_stream.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "millrace/base/str_cat.h"
#include "millrace/launch/shipping/depot.h"
#include "millrace/launch/shipping/file_calls.h"
#include "millrace/launch/shipping/placed_files.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

constexpr size_t kToldAtOnce = size_t{1} << 18;

Status send_blob(const Shipment& shipment, const std::string& digest,
                 const std::function<Status(std::string_view)>& sink) {
  MR_ASSIGN(const BlobShelf::Blob blob, shipment.find(digest));
  MR_TRY(sink(str_cat("blob ", blob.size, " ", digest, "\n")));
  std::string bytes(kToldAtOnce, '\0');
  for (uint64_t at = 0; at < blob.size;) {
    const ssize_t size = pread(blob.descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (size <= 0) return unavailable("the copy of a file can't be read: ", std::strerror(errno));
    MR_TRY(sink(std::string_view(bytes).substr(0, static_cast<size_t>(size))));
    at += static_cast<uint64_t>(size);
  }
  return {};
}

}  // namespace

Status send_to_depot(const Shipment& shipment,
                     const std::function<Status(std::string_view)>& sink) {
  for (const ShippedFile& file : shipment.manifest().files)
    MR_TRY(send_blob(shipment, file.digest, sink).with(str_cat("'", file.name, "'")));
  MR_TRY(send_blob(shipment, shipment.digest(), sink));
  return sink(str_cat(kDepotEnd, "\n"));
}

Status OutputReader::feed(std::string_view bytes) {
  unread_.append(bytes);
  while (!unread_.empty()) {
    if (is_over_) return invalid("a depot says no more than that it is the end");
    if (file_) {
      const size_t size = std::min<uint64_t>(file_left_, unread_.size());
      MR_TRY(write_all(file_->number(), std::string_view(unread_).substr(0, size))
                 .with(str_cat("in '", output_dir_, "'")));
      unread_.erase(0, size);
      file_left_ -= size;
      if (file_left_ == 0) file_.reset();
      continue;
    }
    const size_t end = unread_.find('\n');
    if (end == std::string::npos && unread_.size() > kLongestFileCall)
      return invalid("no line of a depot is so long");
    if (end == std::string::npos) return {};
    MR_TRY(take_line(std::string_view(unread_).substr(0, end)));
    unread_.erase(0, end + 1);
  }
  return {};
}

Status OutputReader::take_line(std::string_view line) {
  if (line == kDepotEnd && !delivery_) {
    is_over_ = true;
    return {};
  }
  MR_ASSIGN(const FileCall call, parse_file_call(line));
  const auto* begin = std::get_if<BeginOutputs>(&call);
  const auto* output = std::get_if<PutOutput>(&call);
  if (begin != nullptr && !delivery_ && is_plain_name(begin->task)) {
    task_ = begin->task;
    MR_ASSIGN(OutputDelivery delivery, OutputDelivery::begin(output_dir_, task_, {}));
    delivery_.emplace(std::move(delivery));
    return {};
  }
  if (output != nullptr && delivery_) {
    MR_ASSIGN(Descriptor file, delivery_->create(*output));
    file_left_ = output->size;
    if (file_left_ > 0) file_.emplace(std::move(file));
    return {};
  }
  if (!std::holds_alternative<EndOutputs>(call) || !delivery_)
    return invalid("'", line.substr(0, 80), "' is nothing that a depot says now");
  MR_TRY(delivery_->publish());
  notes_.push_back(str_cat("outputs of ", task_, " are in ", delivery_->target(), ": ",
                           amount_text(delivery_->num_files(), delivery_->num_bytes())));
  delivery_.reset();
  return {};
}

}  // namespace millrace

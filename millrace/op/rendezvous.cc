#include "millrace/op/rendezvous.h"

#include <array>
#include <charconv>

namespace millrace {
namespace {

Status bad_key(std::string_view text, std::string_view why) {
  // The two spaces are TensorFlow's.
  return invalid("Invalid  rendezvous key: ", text, " (", why, ")");
}

}  // namespace

RendezvousKey RendezvousKey::make(std::string_view source_device, uint64_t source_incarnation,
                                  std::string_view destination_device, std::string_view tensor_name,
                                  uint64_t frame, int64_t iteration) {
  return {str_cat(source_device, ";", absl::Hex(source_incarnation, absl::kZeroPad16), ";",
                  destination_device, ";", tensor_name, ";", frame, ":", iteration)};
}

RendezvousKey RendezvousKey::in(uint64_t frame, int64_t iteration) const {
  const std::string_view channel = std::string_view(text).substr(0, text.rfind(';') + 1);
  return {str_cat(channel, frame, ":", iteration)};
}

Result<RendezvousKey::Parts> RendezvousKey::parse(std::string_view text) {
  std::array<std::string_view, 5> pieces;
  std::string_view rest = text;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const size_t end = rest.find(';');
    const bool is_last = i + 1 == pieces.size();
    if (is_last != (end == std::string_view::npos))
      return bad_key(text, "it must have exactly 5 parts between semicolons");
    pieces[i] = rest.substr(0, end);
    if (!is_last) rest.remove_prefix(end + 1);
  }

  Parts parts;
  parts.source_device = pieces[0];
  parts.destination_device = pieces[2];
  parts.tensor_name = pieces[3];
  parts.frame_and_iteration = pieces[4];

  auto source = DeviceName::parse(parts.source_device);
  if (!source.ok()) return bad_key(text, source.status().message());
  parts.source = std::move(source).value();
  auto destination = DeviceName::parse(parts.destination_device);
  if (!destination.ok()) return bad_key(text, destination.status().message());
  parts.destination = std::move(destination).value();

  const char* end = pieces[1].data() + pieces[1].size();
  const auto [stop, problem] = std::from_chars(pieces[1].data(), end, parts.source_incarnation, 16);
  if (problem != std::errc() || stop != end)
    return bad_key(text, "its second part, the incarnation, must be a hexadecimal number");
  if (parts.tensor_name.empty())
    return bad_key(text, "its fourth part, the tensor's name, is empty");
  if (parts.frame_and_iteration.empty())
    return bad_key(text, "its fifth part, frame and iteration, is empty");
  return parts;
}

}  // namespace millrace

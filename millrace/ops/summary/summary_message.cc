#include "millrace/ops/summary/summary_message.h"

#include <bit>

#include "millrace/base/str_cat.h"

namespace millrace::summary {

void put_text(std::string* out, int number, std::string_view text) {
  if (!text.empty()) wire::put_bytes_field(out, number, text);
}

void put_number(std::string* out, int number, int64_t value) {
  if (value != 0) wire::put_varint_field(out, number, static_cast<uint64_t>(value));
}

void put_double(std::string* out, int number, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  if (bits == 0) return;  // minus zero is written
  wire::put_tag(out, number, wire::WireType::fixed64);
  for (int shift = 0; shift < 64; shift += 8) *out += static_cast<char>(bits >> shift);
}

Result<std::string> scalar_text(const Tensor& tensor, std::string_view what) {
  if (!tensor.shape().is_scalar())
    return invalid(what, " must be a scalar, got shape ", tensor.shape().to_string());
  return tensor.item<std::string>();
}

std::string tag_of(std::string_view tag, std::string_view kind, int64_t index, int64_t most) {
  if (most <= 1) return str_cat(tag, "/", kind);
  return str_cat(tag, "/", kind, "/", index);
}

void set_summary(KernelContext& context, std::string message) {
  context.set_output(0, Tensor::scalar(std::move(message)));
}

}  // namespace millrace::summary

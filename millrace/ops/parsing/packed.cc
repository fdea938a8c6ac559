// Part of families.h: register_packed.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "millrace/io/byte_source.h"
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/parsing/families.h"

namespace millrace {
namespace {

constexpr const char* kBytesAlone = "bytes have no gradient";

// --- DecodePaddedRaw ---

Result<size_t> padded_length(KernelContext& context) {
  const Tensor& given = context.input(1);
  if (!given.shape().is_scalar())
    return invalid("fixed_length must be scalar, got shape ", given.shape().to_string());
  MR_ASSIGN(const int64_t length, read_integer(given, "fixed_length"));
  const auto size = static_cast<int64_t>(dtype_size(context.output_dtype(0)));
  if (length <= 0) return invalid("fixed_length (", length, ") must be greater than zero.");
  if (length % size != 0) {
    return invalid("fixed_length (", length, ") must be a multiple of the size of out_type (", size,
                   ")");
  }
  return static_cast<size_t>(length);
}

// Longer strings lose their end, shorter ones go on with zeros.
Result<Tensor> decode_padded(KernelContext& context, bool little_endian) {
  MR_ASSIGN(const size_t length, padded_length(context));
  const Tensor& input = context.input(0);
  const size_t size = dtype_size(context.output_dtype(0));
  std::vector<int64_t> dims(input.shape().dims().begin(), input.shape().dims().end());
  dims.push_back(static_cast<int64_t>(length / size));
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor made, Tensor::zeros(context.output_dtype(0), shape));
  const bool is_ours = little_endian == (std::endian::native == std::endian::little);
  char* to = static_cast<char*>(made.mutable_data());
  CancelProbe probe(context);
  for (const std::string& text : input.flat<std::string>()) {
    std::copy_n(text.data(), std::min(length, text.size()), to);
    const auto elements = static_cast<int64_t>(length / size);
    if (!is_ours && size > 1) {
      MR_TRY(probe.in_pieces(elements, [&](int64_t begin, int64_t count) {
        char* element = to + begin * static_cast<int64_t>(size);
        for (int64_t i = 0; i < count; ++i, element += size) std::reverse(element, element + size);
      }));
    }
    to += length;
    if (!probe.go_on(1 + elements / 16)) return probe.status();
  }
  return made;
}

Status infer_decode_padded(InferContext& context) {
  MR_TRY(context.input_of_rank(1, 0));
  const PartialShape& input = context.input(0);
  if (!input.has_rank()) return {};
  std::vector<int64_t> dims(input.dims().begin(), input.dims().end());
  dims.push_back(kUnknownDim);
  return context.set_output(0, PartialShape::create(dims));
}

// --- DecodeCompressed ---

// A string as a file.
class TextFile final : public ReadableFile {
 public:
  explicit TextFile(std::string_view text) : text_(text) {}
  Result<size_t> read(uint64_t offset, std::span<char> into) const override {
    const std::string_view rest = text_.substr(std::min<uint64_t>(offset, text_.size()));
    const size_t count = std::min(rest.size(), into.size());
    std::copy_n(rest.begin(), count, into.begin());
    return count;
  }
  Result<uint64_t> size() const override { return text_.size(); }

 private:
  const std::string_view text_;
};

// As in TensorFlow, of what is cut off there is as much as unpacks.
// Memory is that of what unpacks, at most some thousand times the packed bytes.
Result<std::string> unpacked(const std::string& packed, io::Packing packing, CancelProbe& probe) {
  if (packing == io::Packing::none) return packed;
  const auto source = io::bytes_of(std::make_unique<TextFile>(packed), packing, io::CutOff::ends);
  std::string whole;
  std::vector<char> piece(1 << 16);
  for (size_t count = piece.size(); count == piece.size();) {
    MR_ASSIGN(count, source->read(piece));
    whole.append(piece.data(), count);
    if (!probe.go_on(static_cast<int64_t>(1 + count / 4))) return probe.status();
  }
  return whole;
}

struct BoundPacking {
  Result<io::Packing> read(const KernelSpec& spec) const {
    MR_ASSIGN(const std::string name, spec.attrs.string("compression_type"));
    auto packing = io::packing_of(name);
    if (packing.ok()) return packing;
    return invalid("Only ZLIB, GZIP or NONE are supported compressions, not '", name, "'");
  }
};

Result<Tensor> decode_compressed(KernelContext& context, io::Packing packing) {
  const auto packed = context.input(0).flat<std::string>();
  MR_ASSIGN(Tensor made, context.allocate(0, context.input(0).shape()));
  const auto to = made.mutable_flat<std::string>();
  CancelProbe probe(context);
  for (size_t i = 0; i < packed.size(); ++i) {
    MR_ASSIGN(to[i], unpacked(packed[i], packing, probe));
  }
  return made;
}

}  // namespace

Status register_packed(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "DecodePaddedRaw",
      .doc = "The first fixed_length bytes of each string as numbers, along a new last axis; zeros "
             "where there are fewer.",
      .signature = "input_bytes: string, fixed_length: int32 -> output: out_type | out_type: "
                   "{half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}, "
                   "little_endian: bool = true",
      .infer = infer_decode_padded,
      .cpu = kernel_with(decode_padded, boolean("little_endian")),
      .not_differentiable = kBytesAlone,
      .examples = {"['abc' 'abcdef'], 4 -> [[97 98 99 0] [97 98 99 100]] | out_type = uint8",
                   "['abc'], 4 -> [[24930 25344]] | out_type = int16, little_endian = false"},
  }));
  return ops.add({
      .name = "DecodeCompressed",
      .doc = "Strings unpacked, of compression_type ZLIB or GZIP; '' for what is not packed.",
      .signature = "bytes: string -> output: string | compression_type: string = ''",
      .infer = infer::same_as_input,
      .cpu = kernel_with(decode_compressed, BoundPacking()),
      .not_differentiable = kBytesAlone,
      .examples = {"['a' 'bc'] -> ['a' 'bc']"},
  });
}

}  // namespace millrace

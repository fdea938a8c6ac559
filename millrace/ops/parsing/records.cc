// Part of families.h: register_records.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"

#include "millrace/base/str_cat.h"
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/parsing/csv_fields.h"
#include "millrace/ops/parsing/families.h"
#include "millrace/wire/tensor_codec.h"

namespace millrace {
namespace {

constexpr const char* kNoWay = "bytes have no gradient";

// --- DecodeRaw ---

// Numbers of `size` bytes each, the parts of complex ones, with their bytes the other way round.
void turn_bytes(char* bytes, size_t count, size_t size) {
  for (size_t i = 0; i < count; ++i) std::reverse(bytes + i * size, bytes + (i + 1) * size);
}

Result<Tensor> decode_raw(KernelContext& context, bool little_endian) {
  const Tensor& input = context.input(0);
  const DType dtype = context.output_dtype(0);
  const auto texts = input.flat<std::string>();
  const size_t length = texts.empty() ? 0 : texts[0].size();
  const size_t size = dtype_size(dtype);
  for (size_t i = 1; i < texts.size(); ++i) {
    if (texts[i].size() == length) continue;
    return invalid("DecodeRaw requires input strings to all be the same size, but element ", i,
                   " has size ", texts[i].size(), " != ", length);
  }
  if (length % size != 0) {
    return invalid("Input to DecodeRaw has length ", length, " that is not a multiple of ", size,
                   ", the size of ", dtype_name(dtype));
  }
  Shape::Dims dims(input.shape().dims().begin(), input.shape().dims().end());
  dims.push_back(static_cast<int64_t>(length / size));
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  char* to = static_cast<char*>(output.mutable_data());
  const bool is_ours = little_endian == (std::endian::native == std::endian::little);
  const size_t part = is_complex(dtype) ? size / 2 : size;
  CancelProbe probe(context);
  for (const std::string& text : texts) {
    if (length == 0) break;
    std::memcpy(to, text.data(), length);
    // A bool is 0 or 1, whatever was written.
    for (size_t i = 0; i < length && dtype == DType::boolean; ++i) to[i] = to[i] != 0 ? 1 : 0;
    if (!is_ours) turn_bytes(to, length / part, part);
    to += length;
    if (!probe.go_on(static_cast<int64_t>(1 + length / 16))) return probe.status();
  }
  return output;
}

Status infer_decode_raw(InferContext& context) {
  const PartialShape& input = context.input(0);
  if (!input.has_rank()) return {};
  Shape::Dims dims(input.dims().begin(), input.dims().end());
  dims.push_back(kUnknownDim);
  return context.set_output(0, PartialShape::create(dims));
}

// --- DecodeCSV ---

struct BoundCsv {
  Result<CsvFormat> read(const KernelSpec& spec) const {
    CsvFormat format;
    MR_ASSIGN(const std::string delimiter, spec.attrs.string("field_delim"));
    MR_ASSIGN(format.has_quotes, spec.attrs.boolean("use_quote_delim"));
    MR_ASSIGN(format.missing, spec.attrs.string("na_value"));
    MR_ASSIGN(format.columns, spec.attrs.integers("select_cols"));
    if (delimiter.size() != 1) return invalid("field_delim should be only 1 char");
    format.delimiter = delimiter[0];
    if (!format.columns.empty() && format.columns.size() != spec.outputs.size())
      return invalid("select_cols should match output size");
    for (size_t i = 0; i < format.columns.size(); ++i) {
      if (format.columns[i] < 0) return invalid("select_cols should be non-negative");
      if (i > 0 && format.columns[i] <= format.columns[i - 1])
        return invalid("select_cols should be strictly increasing indices");
    }
    return format;
  }
};

Status decode_csv(KernelContext& context, const CsvFormat& format) {
  const Tensor& records = context.input(0);
  const auto count = static_cast<size_t>(context.num_outputs());
  std::vector<Tensor> columns;
  for (size_t i = 0; i < count; ++i) {
    MR_TRY(check_csv_default(context.input(static_cast<int>(i) + 1), i));
    MR_ASSIGN(Tensor column, context.allocate(static_cast<int>(i), records.shape()));
    columns.push_back(std::move(column));
  }
  std::vector<std::string> fields;
  const auto texts = records.flat<std::string>();
  CancelProbe probe(context);
  for (size_t row = 0; row < texts.size(); ++row) {
    MR_TRY(cut_csv_record(format, texts[row], fields));
    if (format.columns.empty() && fields.size() != count) {
      return invalid("Expect ", count, " fields but have ", fields.size(), " in record ", row);
    }
    for (size_t i = 0; i < count; ++i) {
      const size_t place = format.columns.empty() ? i : static_cast<size_t>(format.columns[i]);
      if (place >= fields.size()) {
        return invalid("Expect ", format.columns.size(), " fields but have ", i, " in record ", row,
                       ": there is no column ", place);
      }
      const std::string& text = fields[place];
      MR_TRY(put_csv_field(columns[i], row, format.is_missing(text) ? nullptr : &text,
                           context.input(static_cast<int>(i) + 1), {.field = i, .record = row}));
    }
    if (!probe.go_on(static_cast<int64_t>(1 + texts[row].size() / 4))) return probe.status();
  }
  for (size_t i = 0; i < count; ++i) context.set_output(static_cast<int>(i), std::move(columns[i]));
  return {};
}

Status infer_decode_csv(InferContext& context) {
  for (int slot = 1; slot < context.num_inputs(); ++slot)
    MR_TRY(check_csv_default(context.input(slot)));
  for (int slot = 0; slot < context.num_outputs(); ++slot)
    context.set_output(slot, context.input(0));
  return {};
}

// --- ParseTensor, SerializeTensor ---

constexpr size_t kShownBytes = 90;  // of what is no TensorProto

Result<Tensor> parse_tensor(KernelContext& context) {
  const Tensor& serialized = context.input(0);
  if (!serialized.shape().is_scalar()) {
    return invalid("Expected `serialized` to be a scalar, got shape: ",
                   serialized.shape().to_string());
  }
  const auto& bytes = serialized.item<std::string>();
  Result<Tensor> decoded = wire::decode_tensor_bytes(bytes);
  if (!decoded.ok()) {
    return decoded.status().with(str_cat("Could not parse `serialized` as TensorProto, base64: ",
                                         absl::Base64Escape(bytes.substr(0, kShownBytes)),
                                         bytes.size() > kShownBytes ? "..." : ""));
  }
  Tensor parsed = *std::move(decoded);
  if (parsed.dtype() != context.output_dtype(0)) {
    return invalid("Type mismatch between parsed tensor (", dtype_name(parsed.dtype()),
                   ") and dtype (", dtype_name(context.output_dtype(0)), ")");
  }
  return parsed;
}

Result<Tensor> serialize_tensor(KernelContext& context) {
  return Tensor::scalar(wire::encode_tensor_proto(context.input(0), wire::Texts::listed));
}

}  // namespace

Status register_records(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "DecodeRaw",
      .doc = "The bytes of each string as numbers, along a new last axis.",
      .signature = "bytes: string -> output: out_type | out_type: {half, float, double, int32, "
                   "uint16, uint8, int16, int8, int64, complex64, complex128, bool, bfloat16}, "
                   "little_endian: bool = true",
      .infer = infer_decode_raw,
      .cpu = kernel_with(decode_raw, boolean("little_endian")),
      .not_differentiable = kNoWay,
      .examples = {"['AB' 'CD'] -> [[65 66] [67 68]] | out_type = uint8",
                   "'AB' -> [16961] | out_type = int16",
                   "'AB' -> [16706] | out_type = int16, little_endian = false"},
  }));
  MR_TRY(ops.add({
      .name = "DecodeCSV",
      .doc = "Records of fields that commas part, as a tensor per field; what is missing has the "
             "field's default.",
      .signature = "records: string, record_defaults: OUT_TYPE -> output: OUT_TYPE | "
                   "OUT_TYPE: list({float, double, int32, int64, string}) >= 1, "
                   "field_delim: string = ',', use_quote_delim: bool = true, "
                   "na_value: string = '', select_cols: list(int) = {}",
      .infer = infer_decode_csv,
      .cpu = kernel_with(decode_csv, BoundCsv()),
      .not_differentiable = kNoWay,
      .examples = {"['1,a' ',\"b,\"\"c\"'], [7], [] -> [1 7], ['a' 'b,\"c'] | "
                   "OUT_TYPE = {int32, string}",
                   "['1;2;3'], [0.5] -> [3] | OUT_TYPE = {float}, field_delim = ';', "
                   "select_cols = {2}"},
  }));
  MR_TRY(ops.add({
      .name = "ParseTensor",
      .doc = "The tensor that the bytes of a TensorProto stand for.",
      .signature = "serialized: string -> output: out_type | out_type: type",
      .infer = infer::unknown,
      .cpu = kernel(parse_tensor),
      .not_differentiable = kNoWay,
      // Field 1, the type, is 1 for float; field 4 holds the bytes.
      .examples = {"'\x08\x01\"\x04"
                   "AAAA' -> 12.0784311 | out_type = float"},
  }));
  return ops.add({
      .name = "SerializeTensor",
      .doc = "The bytes of a TensorProto that stand for a tensor.",
      .signature = "tensor: T -> serialized: string | T: type",
      .infer = infer::scalar,
      .cpu = kernel(serialize_tensor),
      .not_differentiable = kNoWay,
      .examples = {"[1 2]"},
  });
}

}  // namespace millrace

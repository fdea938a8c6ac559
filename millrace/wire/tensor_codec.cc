#include "millrace/wire/tensor_codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/format/shape_codec.h"
#include "millrace/wire/tensor_fields.h"

namespace millrace::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "raw content is little-endian");

// How the typed list of a plain dtype is written. The element in memory is the low `size` bytes of
// the number on the wire; a complex one has two such parts.
struct ListForm {
  uint32_t field = 0;
  WireType type = WireType::varint;
  size_t size = 0;
  size_t parts = 1;
};

ListForm list_form(DType dtype) {
  const size_t size = dtype_size(dtype);
  switch (dtype) {
    case DType::f32:
      return {kFloatVal, WireType::fixed32, 4};
    case DType::f64:
      return {kDoubleVal, WireType::fixed64, 8};
    case DType::c64:
      return {kScomplexVal, WireType::fixed32, 4, 2};
    case DType::c128:
      return {kDcomplexVal, WireType::fixed64, 8, 2};
    case DType::i64:
      return {kInt64Val, WireType::varint, size};
    case DType::u32:
      return {kUint32Val, WireType::varint, size};
    case DType::u64:
      return {kUint64Val, WireType::varint, size};
    case DType::boolean:
      return {kBoolVal, WireType::varint, size};
    case DType::f16:
    case DType::bf16:
      return {kHalfVal, WireType::varint, size};
    case DType::f8_e5m2:
    case DType::f8_e4m3fn:
    case DType::f8_e4m3fnuz:
    case DType::f8_e4m3b11fnuz:
    case DType::f8_e5m2fnuz:
    case DType::f4_e2m1fn:
      return {kFloat8Val, WireType::bytes, size};
    default:
      return {kIntVal, WireType::varint, size};
  }
}

// Where listed elements go: the first `capacity` parts are kept, the rest ignored.
class PartSink {
 public:
  PartSink(Tensor* tensor, const ListForm& form)
      : at_(static_cast<char*>(tensor->mutable_data())),
        end_(at_ + tensor->num_bytes()),
        size_(form.size),
        normalise_(tensor->dtype() == DType::boolean) {}

  void put(uint64_t value) {
    if (at_ == end_) return;
    if (normalise_) value = value != 0;
    std::memcpy(at_, &value, size_);
    at_ += size_;
  }
  void put_raw(std::string_view bytes) {
    const size_t count = std::min(bytes.size(), static_cast<size_t>(end_ - at_));
    std::memcpy(at_, bytes.data(), count);
    at_ += count;
  }
  char* end_of_data() const { return at_; }

 private:
  char* at_;
  char* const end_;
  const size_t size_;
  const bool normalise_;
};

Status read_packed(Reader reader, const Field& field, const ListForm& form, PartSink* sink) {
  if (form.type == WireType::bytes || form.type == WireType::fixed32 ||
      form.type == WireType::fixed64) {
    if (field.bytes.size() % form.size != 0)
      return reader.malformed(field.bytes, "a list whose length is not a multiple of its elements");
    sink->put_raw(field.bytes);
    return {};
  }
  Reader packed = reader.inside(field);
  uint64_t value;
  while (!packed.at_end()) {
    if (!packed.next_varint(&value)) return packed.status();
    sink->put(value);
  }
  return {};
}

// Writes the last whole element over the rest.
void repeat_last(Tensor* tensor, size_t filled) {
  char* const data = static_cast<char*>(tensor->mutable_data());
  const size_t size = dtype_size(tensor->dtype());
  const size_t total = tensor->num_bytes();
  const char* const last = data + filled - size;
  size_t run = size;  // what is known to be copies of the last element, doubled each time
  while (filled < total) {
    const size_t count = std::min(run, total - filled);
    std::memcpy(data + filled, last, count);
    filled += count;
    run += count;
  }
}

Result<Tensor> read_listed(Reader message, const TensorHead& head) {
  const ListForm form = list_form(head.dtype);
  Tensor tensor;
  Field field;
  char* filled_to = nullptr;
  std::optional<PartSink> sink;
  while (message.next(&field)) {
    if (field.number != form.field) continue;
    if (!sink) {
      MR_ASSIGN(tensor, Tensor::allocate(head.dtype, head.shape));
      sink.emplace(&tensor, form);
    }
    if (field.type == WireType::bytes) {
      MR_TRY(read_packed(message, field, form, &*sink));
    } else if (field.type == form.type) {
      sink->put(field.value);
    }
    filled_to = sink->end_of_data();
  }
  MR_TRY(message.status());

  const size_t size = dtype_size(head.dtype);
  const size_t filled =
      filled_to
          ? static_cast<size_t>(filled_to - static_cast<char*>(tensor.mutable_data())) / size * size
          : 0;
  // Fresh zeros rather than written ones: a large constant of zeros then costs no memory traffic.
  if (filled == 0) return Tensor::zeros(head.dtype, head.shape);
  repeat_last(&tensor, filled);
  return tensor;
}

Result<Tensor> read_raw(const TensorHead& head) {
  const size_t count = static_cast<size_t>(head.shape.num_elements());
  if (count > head.content.size() / dtype_size(head.dtype) ||
      count * dtype_size(head.dtype) != head.content.size()) {
    return invalid("tensor ", head.to_string(), " has content of ", head.content.size(), " bytes; ",
                   count, " elements of ", dtype_size(head.dtype), " bytes are needed");
  }
  if (head.dtype == DType::boolean) MR_TRY(check_bools(head.content).with(head.to_string()));
  MR_ASSIGN(Tensor tensor, Tensor::allocate(head.dtype, head.shape));
  std::memcpy(tensor.mutable_data(), head.content.data(), head.content.size());
  return tensor;
}

Status charge(const TensorHead& head, Budget& budget) {
  return budget.take(static_cast<size_t>(head.shape.num_elements()), dtype_size(head.dtype))
      .with(str_cat("tensor ", head.to_string()));
}

Result<Tensor> read_objects(Reader message, const TensorHead& head, Budget& budget, int depth) {
  const bool is_raw = !head.content.empty();
  // Each element of the raw form has a length of a byte at least. Strings are then a small multiple
  // of the message; the larger objects stay under the limit.
  if (is_raw && static_cast<size_t>(head.shape.num_elements()) > head.content.size()) {
    return invalid("tensor ", head.to_string(), " has content of ", head.content.size(),
                   " bytes; each of its elements needs one at least");
  }
  if (!is_raw || head.dtype != DType::string) MR_TRY(charge(head, budget));
  MR_ASSIGN(Tensor tensor, Tensor::allocate(head.dtype, head.shape));
  MR_TRY((is_raw ? read_raw_objects(Reader(head.content), budget, depth, &tensor)
                 : read_listed_objects(message, budget, depth, &tensor))
             .with(str_cat("tensor ", head.to_string())));
  return tensor;
}

// `message` is where typed lists are, read only if the content is empty.
Result<Tensor> read_elements(Reader message, const TensorHead& head, Budget& budget, int depth) {
  if (head.shape.num_elements() == 0) return Tensor::allocate(head.dtype, head.shape);
  if (!is_plain(head.dtype)) return read_objects(message, head, budget, depth);
  if (!head.content.empty()) return read_raw(head);
  MR_TRY(charge(head, budget));
  return read_listed(message, head);
}

}  // namespace

Status Budget::take(size_t count, size_t element_bytes) {
  if (count <= left_ / std::max<size_t>(element_bytes, 1)) {
    left_ -= count * element_bytes;
    return {};
  }
  return error(Code::resource_exhausted, count, " elements of ", element_bytes,
               " bytes stand in a message that does not hold them one by one, and only ", left_,
               " bytes may be expanded; send raw content instead, or make the tensor with Fill");
}

std::string TensorHead::to_string() const { return str_cat(dtype_name(dtype), shape.to_string()); }

Result<TensorHead> read_tensor_head(Reader reader) {
  TensorHead head;
  uint64_t number = 0;
  Field field;
  while (reader.next(&field)) {
    if (field.is(kTensorDType, WireType::varint)) {
      number = field.value;
    } else if (field.is(kTensorShape, WireType::bytes)) {
      MR_ASSIGN(head.shape, read_shape(reader.inside(field)).with("shape of a tensor"));
    } else if (field.is(kTensorContent, WireType::bytes)) {
      head.content = field.bytes;
    }
  }
  MR_TRY(reader.status());
  const auto dtype =
      number <= kMaxDType ? dtype_from_number(static_cast<int>(number)) : std::nullopt;
  if (!dtype) {
    const bool is_ref = number > kRefOffset && number <= kRefOffset + kMaxDType;
    return invalid("a tensor of shape ", head.shape.to_string(), " has dtype number ", number,
                   number == 0 ? ", which means none"
                   : is_ref    ? ", a reference type; values are never references"
                               : ", which is not known");
  }
  head.dtype = *dtype;
  return head;
}

Result<Tensor> read_tensor(Reader reader, Budget& budget, int depth) {
  if (depth > kMaxDepth)
    return reader.malformed(reader.remaining(), "tensors nested more than 100 deep");
  MR_ASSIGN(const TensorHead head, read_tensor_head(reader));
  return read_elements(reader, head, budget, depth);
}

Status check_bools(std::string_view bytes) {
  const auto bad =
      std::find_if(bytes.begin(), bytes.end(), [](char byte) { return (byte & ~1) != 0; });
  if (bad == bytes.end()) return {};
  return invalid("element ", bad - bytes.begin(), " of a bool tensor is byte ",
                 static_cast<int>(static_cast<unsigned char>(*bad)), "; it must be 0 or 1");
}

void put_tensor_head(std::string* out, const Tensor& tensor) {
  if (!tensor.has_value()) return;
  put_varint_field(out, kTensorDType, static_cast<uint64_t>(tensor.dtype()));
  if (!tensor.shape().is_scalar()) put_shape(out, kTensorShape, tensor.shape());
}

std::string_view tensor_content(const Tensor& tensor, std::string* scratch) {
  if (!tensor.has_value() || is_plain(tensor.dtype())) return tensor.bytes();
  *scratch = encode_raw_objects(tensor);
  return *scratch;
}

Result<Tensor> decode_tensor_bytes(std::string_view bytes, const DecodeLimits& limits) {
  Budget budget(limits);
  return read_tensor(Reader(bytes), budget, 0);
}

std::string encode_tensor_bytes(const Tensor& tensor) {
  std::string bytes;
  put_tensor_head(&bytes, tensor);
  std::string scratch;
  const std::string_view content = tensor_content(tensor, &scratch);
  if (tensor.has_value()) put_bytes_field(&bytes, kTensorContent, content);
  return bytes;
}

std::string encode_tensor_proto(const Tensor& tensor) {
  std::string bytes;
  put_varint_field(&bytes, kTensorDType, static_cast<uint64_t>(tensor.dtype()));
  {
    const NestedField shape(&bytes, kTensorShape);
    for (const int64_t size : tensor.shape().dims()) {
      const NestedField dim(&bytes, shape_fields::kDim);
      if (size != 0) put_varint_field(&bytes, shape_fields::kDimSize, static_cast<uint64_t>(size));
    }
  }
  std::string scratch;
  const std::string_view content = tensor_content(tensor, &scratch);
  if (!content.empty()) put_bytes_field(&bytes, kTensorContent, content);
  return bytes;
}

}  // namespace millrace::wire

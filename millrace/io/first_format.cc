#include "millrace/io/first_format.h"

#include <algorithm>
#include <cstring>

#include "millrace/format/shape_codec.h"
#include "millrace/format/wire_format.h"
#include "millrace/io/little_endian.h"
#include "millrace/io/slice_codec.h"

namespace millrace::io {
namespace {

// SavedTensorSlices, SavedTensorSliceMeta, SavedSliceMeta, VersionDef, SavedSlice.
enum TopField : uint32_t { kMeta = 1, kSaved = 2 };
enum MetaField : uint32_t { kTensor = 1, kVersions = 2 };
enum ListedField : uint32_t {
  kListedName = 1,
  kListedShape = 2,
  kListedType = 3,
  kListedSlice = 4
};
enum VersionsField : uint32_t { kVersionOfWriter = 1, kOldestReader = 2 };
enum SavedField : uint32_t { kSavedName = 1, kSavedSlice = 2, kSavedData = 3 };

constexpr int kFirstFormatVersion = 1;
// What a message may have at most, and what it has beside the elements.
constexpr uint64_t kMostMessageBytes = (uint64_t{1} << 31) - 1;
constexpr uint64_t kHeadBytes = 1 << 10;

template <class... Parts>
Status unreadable(const Parts&... parts) {
  return error(Code::data_loss, parts...);
}

// How a TensorProto holds the elements of a type.
enum class Held { as_they_are, numbers, texts };
struct ElementField {
  uint32_t number = 0;  // 0: not at all
  Held held = Held::numbers;
  bool is_signed = false;
};

ElementField field_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return {5, Held::as_they_are};
    case DType::f64:
      return {6, Held::as_they_are};
    case DType::c64:
      return {9, Held::as_they_are};
    case DType::c128:
      return {12, Held::as_they_are};
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::qi8:
    case DType::qi16:
    case DType::qi32:
      return {7, Held::numbers, true};
    case DType::u8:
    case DType::u16:
    case DType::qu8:
    case DType::qu16:
      return {7, Held::numbers};
    case DType::string:
      return {8, Held::texts};
    case DType::i64:
      return {10, Held::numbers, true};
    case DType::boolean:
      return {11, Held::numbers};
    case DType::f16:
      return {13, Held::numbers};
    default:
      return {};
  }
}

// An element of up to 8 bytes as the varint that it is written as: signed ones extended.
uint64_t number_at(const char* at, size_t size, bool is_signed) {
  uint64_t value = 0;
  std::memcpy(&value, at, size);
  if (is_signed && size < sizeof value) {
    const uint64_t sign = uint64_t{1} << (8 * size - 1);
    value = (value ^ sign) - sign;
  }
  return value;
}

void put_elements(std::string* out, const Tensor& tensor) {
  const ElementField field = field_of(tensor.dtype());
  const int number = static_cast<int>(field.number);
  if (tensor.num_elements() == 0) return;
  if (field.held == Held::texts) {
    for (const std::string& text : tensor.flat<std::string>())
      wire::put_bytes_field(out, number, text);
    return;
  }
  if (field.held == Held::as_they_are) return wire::put_bytes_field(out, number, tensor.bytes());
  std::string numbers;
  const size_t size = dtype_size(tensor.dtype());
  const std::string_view bytes = tensor.bytes();
  for (size_t at = 0; at < bytes.size(); at += size)
    wire::put_varint(&numbers, number_at(bytes.data() + at, size, field.is_signed));
  wire::put_bytes_field(out, number, numbers);
}

// `see(bytes)` of each element, in the memory's form, `size` bytes each; several at once if they
// lie so.
template <class See>
Status each_element(wire::Reader reader, const ElementField& wanted, size_t size, See see) {
  const auto number = [&](uint64_t value) {
    see(std::string_view(reinterpret_cast<const char*>(&value), size));
  };
  for (wire::Field field; reader.next(&field);) {
    if (field.number != wanted.number) continue;
    if (field.type != wire::WireType::bytes) {
      // One by one. A complex number is two; their parts just follow each other.
      const size_t width = field.type == wire::WireType::fixed32   ? 4
                           : field.type == wire::WireType::fixed64 ? 8
                                                                   : size;
      see(std::string_view(reinterpret_cast<const char*>(&field.value), std::min(width, size)));
    } else if (wanted.held == Held::as_they_are) {
      see(field.bytes);
    } else {
      wire::Reader packed = reader.inside(field);
      for (uint64_t value; !packed.at_end() && packed.next_varint(&value);) number(value);
      MR_TRY(packed.status());
    }
  }
  return reader.status();
}

Result<Tensor> read_texts(wire::Reader reader, uint32_t number, const Shape& shape) {
  int64_t count = 0;
  wire::Reader counting = reader;
  for (wire::Field field; counting.next(&field);)
    count += field.is(number, wire::WireType::bytes) ? 1 : 0;
  MR_TRY(counting.status());
  if (count != shape.num_elements())
    return unreadable(count, " strings are there; the slice has ", shape.num_elements());
  MR_ASSIGN(Tensor tensor, Tensor::allocate(DType::string, shape));
  auto into = tensor.mutable_flat<std::string>().begin();
  for (wire::Field field; reader.next(&field);)
    if (field.is(number, wire::WireType::bytes)) *into++ = std::string(field.bytes);
  return tensor;
}

Result<Tensor> read_elements(wire::Reader reader, DType dtype, const Shape& shape) {
  const ElementField field = field_of(dtype);
  if (field.held == Held::texts) return read_texts(reader, field.number, shape);
  const size_t size = dtype_size(dtype);
  uint64_t held = 0;
  MR_TRY(each_element(reader, field, size, [&](std::string_view bytes) { held += bytes.size(); }));
  if (held % size != 0 || held / size != static_cast<uint64_t>(shape.num_elements())) {
    return unreadable(held / size, " elements are there; the slice has ", shape.num_elements());
  }
  MR_ASSIGN(Tensor tensor, Tensor::allocate(dtype, shape));
  char* into = static_cast<char*>(tensor.mutable_data());
  MR_TRY(each_element(reader, field, size, [&](std::string_view bytes) {
    std::memcpy(into, bytes.data(), bytes.size());
    into += bytes.size();
  }));
  return tensor;
}

Result<std::pair<std::string, ListedTensor>> read_listed(wire::Reader reader) {
  std::pair<std::string, ListedTensor> found;
  ListedTensor& tensor = found.second;
  for (wire::Field field; reader.next(&field);) {
    if (field.is(kListedName, wire::WireType::bytes)) {
      found.first = std::string(field.bytes);
    } else if (field.is(kListedShape, wire::WireType::bytes)) {
      MR_ASSIGN(tensor.shape, wire::read_shape(reader.inside(field)));
    } else if (field.is(kListedType, wire::WireType::varint)) {
      tensor.dtype = wire::dtype_or_ref_from_number(field.value).value_or(DType::invalid);
    } else if (field.is(kListedSlice, wire::WireType::bytes)) {
      MR_ASSIGN(Slice slice, read_slice(reader.inside(field)));
      MR_TRY(slice.within(tensor.shape).status());
      tensor.slices.push_back(std::move(slice));
    }
  }
  MR_TRY(reader.status());
  if (!fits_first_format(tensor.dtype))
    return unreadable("'", found.first, "' is of ", dtype_name(tensor.dtype));
  return found;
}

Status check_versions(wire::Reader reader) {
  for (wire::Field field; reader.next(&field);) {
    if (field.is(kOldestReader, wire::WireType::varint) && field.value > kFirstFormatVersion) {
      return failed_precondition("the checkpoint wants a reader of version ", field.value,
                                 " or later; this one is ", kFirstFormatVersion);
    }
  }
  return reader.status();
}

Result<ListedTensors> read_contents(wire::Reader reader) {
  ListedTensors found;
  for (wire::Field top; reader.next(&top);) {
    if (!top.is(kMeta, wire::WireType::bytes)) continue;
    wire::Reader meta = reader.inside(top);
    for (wire::Field field; meta.next(&field);) {
      if (field.is(kVersions, wire::WireType::bytes)) MR_TRY(check_versions(meta.inside(field)));
      if (!field.is(kTensor, wire::WireType::bytes)) continue;
      MR_ASSIGN(auto listed, read_listed(meta.inside(field)));
      found.insert(std::move(listed));
    }
    MR_TRY(meta.status());
  }
  MR_TRY(reader.status());
  return found;
}

template <class T>
Result<T> or_damaged(Result<T> read, std::string_view what) {
  if (read.ok() || read.status().code() != Code::invalid_argument) return read;
  return unreadable(what, ": ", read.status().message());
}

}  // namespace

bool fits_first_format(DType dtype) { return field_of(dtype).number != 0; }

std::string encode_contents(const ListedTensors& tensors) {
  std::string bytes;
  const wire::NestedField meta(&bytes, kMeta);
  for (const auto& [name, tensor] : tensors) {
    const wire::NestedField one(&bytes, kTensor);
    wire::put_bytes_field(&bytes, kListedName, name);
    wire::put_shape(&bytes, kListedShape, tensor.shape);
    wire::put_varint_field(&bytes, kListedType, static_cast<uint64_t>(tensor.dtype));
    for (const Slice& slice : tensor.slices) put_slice(&bytes, kListedSlice, slice);
  }
  {
    const wire::NestedField versions(&bytes, kVersions);
    wire::put_varint_field(&bytes, kVersionOfWriter, kFirstFormatVersion);
  }
  return bytes;
}

Result<ListedTensors> decode_contents(std::string_view bytes) {
  return or_damaged(read_contents(wire::Reader(bytes)), "the contents of a checkpoint");
}

Result<std::string> encode_slice(const std::string& name, const Slice& slice,
                                 const Tensor& tensor) {
  uint64_t most = kHeadBytes + name.size();
  if (tensor.dtype() == DType::string) {
    for (const std::string& text : tensor.flat<std::string>())
      most += text.size() + wire::kMaxVarintBytes;
  } else {
    const bool is_as_it_is = field_of(tensor.dtype()).held == Held::as_they_are;
    const uint64_t each = is_as_it_is ? dtype_size(tensor.dtype()) : wire::kMaxVarintBytes;
    most += static_cast<uint64_t>(tensor.num_elements()) * each;
  }
  if (most > kMostMessageBytes) {
    return invalid("Tensor slice is too large to serialize (conservative estimate: ", most,
                   " bytes): '", name, "'; the second format has no such limit");
  }
  std::string bytes;
  {
    const wire::NestedField saved(&bytes, kSaved, most);
    wire::put_bytes_field(&bytes, kSavedName, name);
    put_slice(&bytes, kSavedSlice, slice);
    const wire::NestedField data(&bytes, kSavedData, most);
    put_elements(&bytes, tensor);
  }
  return bytes;
}

Result<Tensor> decode_slice(std::string_view bytes, DType dtype, const Shape& shape) {
  const auto read = [&]() -> Result<Tensor> {
    wire::Reader reader(bytes);
    for (wire::Field top; reader.next(&top);) {
      if (!top.is(kSaved, wire::WireType::bytes)) continue;
      wire::Reader saved = reader.inside(top);
      for (wire::Field field; saved.next(&field);)
        if (field.is(kSavedData, wire::WireType::bytes))
          return read_elements(saved.inside(field), dtype, shape);
      MR_TRY(saved.status());
    }
    MR_TRY(reader.status());
    return unreadable("a slice has no elements in it");
  };
  return or_damaged(read(), "a slice");
}

}  // namespace millrace::io

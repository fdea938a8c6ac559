#include "millrace/ops/parsing/features.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace millrace {
namespace {

using wire::WireType;

Result<size_t> append_texts(std::string_view list, std::vector<std::string>& texts) {
  wire::Reader reader(list);
  size_t count = 0;
  for (wire::Field field; reader.next(&field);) {
    if (!field.is(1, WireType::bytes)) continue;
    texts.emplace_back(field.bytes);
    ++count;
  }
  MR_TRY(reader.status());
  return count;
}

Result<size_t> append_reals(std::string_view list, std::vector<float>& reals) {
  wire::Reader reader(list);
  const size_t before = reals.size();
  for (wire::Field field; reader.next(&field);) {
    if (field.is(1, WireType::fixed32)) reals.push_back(field.as_float());
    if (!field.is(1, WireType::bytes)) continue;
    if (field.bytes.size() % 4 != 0)
      return reader.malformed(field.bytes, "packed floats of a length that is no multiple of 4");
    static_assert(std::endian::native == std::endian::little);  // as they stand in the message
    const size_t at = reals.size();
    reals.resize(at + field.bytes.size() / 4);
    if (!field.bytes.empty())
      std::memcpy(reals.data() + at, field.bytes.data(), field.bytes.size());
  }
  MR_TRY(reader.status());
  return reals.size() - before;
}

Result<size_t> append_integers(std::string_view list, std::vector<int64_t>& integers) {
  wire::Reader reader(list);
  const size_t before = integers.size();
  for (wire::Field field; reader.next(&field);) {
    if (field.is(1, WireType::varint)) integers.push_back(static_cast<int64_t>(field.value));
    if (!field.is(1, WireType::bytes)) continue;
    wire::Reader packed = reader.inside(field);
    while (!packed.at_end()) {
      uint64_t value = 0;
      if (!packed.next_varint(&value)) return packed.status();
      integers.push_back(static_cast<int64_t>(value));
    }
  }
  MR_TRY(reader.status());
  return integers.size() - before;
}

template <class T>
Result<Tensor> tensor_of(const std::vector<T>& values, const Shape& shape) {
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype_of<T>, shape));
  std::copy(values.begin(), values.end(), made.mutable_flat<T>().begin());
  return made;
}

template <class T>
void append(std::vector<T>& values, std::span<const T> more) {
  values.insert(values.end(), more.begin(), more.end());
}

template <class T>
void copy(const std::vector<T>& values, size_t begin, size_t count, Tensor& target, size_t at) {
  const auto from = std::span(values).subspan(begin, count);
  std::copy(from.begin(), from.end(), target.mutable_flat<T>().subspan(at, count).begin());
}

template <class T>
void fill(Tensor& target, size_t at, size_t count, const Tensor& pad) {
  const T value = pad.has_value() && pad.num_elements() > 0 ? pad.item<T>() : T();
  std::ranges::fill(target.mutable_flat<T>().subspan(at, count), value);
}

}  // namespace

size_t FeatureValues::size() const {
  return dtype == DType::i64 ? integers.size() : dtype == DType::f32 ? reals.size() : texts.size();
}

Result<Tensor> FeatureValues::tensor(const Shape& shape) const {
  if (dtype == DType::i64) return tensor_of(integers, shape);
  if (dtype == DType::f32) return tensor_of(reals, shape);
  return tensor_of(texts, shape);
}

void FeatureValues::append_all(const Tensor& source) {
  if (dtype == DType::i64) return append(integers, source.flat<int64_t>());
  if (dtype == DType::f32) return append(reals, source.flat<float>());
  append(texts, source.flat<std::string>());
}

void FeatureValues::append_all(FeatureValues&& more) {
  append(integers, std::span<const int64_t>(more.integers));
  append(reals, std::span<const float>(more.reals));
  texts.insert(texts.end(), std::move_iterator(more.texts.begin()),
               std::move_iterator(more.texts.end()));
}

void FeatureValues::copy_to(size_t begin, size_t count, Tensor& target, size_t at) const {
  if (dtype == DType::i64) return copy(integers, begin, count, target, at);
  if (dtype == DType::f32) return copy(reals, begin, count, target, at);
  copy(texts, begin, count, target, at);
}

void fill_elements(Tensor& target, size_t at, size_t count, const Tensor& pad) {
  if (target.dtype() == DType::i64) return fill<int64_t>(target, at, count, pad);
  if (target.dtype() == DType::f32) return fill<float>(target, at, count, pad);
  fill<std::string>(target, at, count, pad);
}

Result<Feature> Feature::read(std::string_view bytes) {
  Feature feature;
  wire::Reader reader(bytes);
  for (wire::Field field; reader.next(&field);) {
    if (field.type != WireType::bytes || field.number < 1 || field.number > 3) continue;
    const DType dtype = field.number == 1   ? DType::string
                        : field.number == 2 ? DType::f32
                                            : DType::i64;
    // Of several kinds the last one counts; what is split into several of one kind is one list.
    if (dtype != feature.dtype) feature.lists.clear();
    feature.dtype = dtype;
    feature.lists.push_back(field.bytes);
  }
  MR_TRY(reader.status());
  return feature;
}

Result<size_t> Feature::append_to(FeatureValues& values) const {
  size_t count = 0;
  for (const std::string_view list : lists) {
    MR_ASSIGN(const size_t more, dtype == DType::string ? append_texts(list, values.texts)
                                 : dtype == DType::f32  ? append_reals(list, values.reals)
                                                        : append_integers(list, values.integers));
    count += more;
  }
  return count;
}

Result<absl::InlinedVector<std::string_view, 1>> messages_in(std::string_view bytes,
                                                             uint32_t number) {
  absl::InlinedVector<std::string_view, 1> found;
  wire::Reader reader(bytes);
  for (wire::Field field; reader.next(&field);) {
    if (field.is(number, WireType::bytes)) found.push_back(field.bytes);
  }
  MR_TRY(reader.status());
  return found;
}

}  // namespace millrace

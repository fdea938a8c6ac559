#include "millrace/ops/parsing/features.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace millrace {
namespace {

using wire::WireType;

// Where elements go: to the end of a vector, or into a place with room for some; what finds none is
// counted alone.
template <class T>
struct Behind {
  std::vector<T>& values;

  template <class Given>
  void put(const Given& value) {
    values.emplace_back(value);
  }
  void put_bytes(std::string_view numbers) {
    const size_t at = values.size();
    values.resize(at + numbers.size() / sizeof(T));
    if (!numbers.empty()) std::memcpy(values.data() + at, numbers.data(), numbers.size());
  }
};
template <class T>
struct Into {
  std::span<T> room;
  size_t count = 0;

  template <class Given>
  void put(const Given& value) {
    if (count < room.size()) room[count] = T(value);
    ++count;
  }
  void put_bytes(std::string_view numbers) {
    const size_t more = numbers.size() / sizeof(T);
    const size_t fitting = count < room.size() ? std::min(more, room.size() - count) : 0;
    if (fitting > 0) std::memcpy(room.data() + count, numbers.data(), fitting * sizeof(T));
    count += more;
  }
};

template <class Sink>
Status read_texts(std::string_view list, Sink& sink) {
  wire::Reader reader(list);
  for (wire::Field field; reader.next(&field);)
    if (field.is(1, WireType::bytes)) sink.put(field.bytes);
  return reader.status();
}

template <class Sink>
Status read_reals(std::string_view list, Sink& sink) {
  wire::Reader reader(list);
  for (wire::Field field; reader.next(&field);) {
    if (field.is(1, WireType::fixed32)) sink.put(field.as_float());
    if (!field.is(1, WireType::bytes)) continue;
    if (field.bytes.size() % 4 != 0)
      return reader.malformed(field.bytes, "packed floats of a length that is no multiple of 4");
    static_assert(std::endian::native == std::endian::little);  // as they stand in the message
    sink.put_bytes(field.bytes);
  }
  return reader.status();
}

template <class Sink>
Status read_integers(std::string_view list, Sink& sink) {
  wire::Reader reader(list);
  for (wire::Field field; reader.next(&field);) {
    if (field.is(1, WireType::varint)) sink.put(static_cast<int64_t>(field.value));
    if (!field.is(1, WireType::bytes)) continue;
    wire::Reader packed = reader.inside(field);
    while (!packed.at_end()) {
      uint64_t value = 0;
      if (!packed.next_varint(&value)) return packed.status();
      sink.put(static_cast<int64_t>(value));
    }
  }
  return reader.status();
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

void copy_into(const Tensor& source, Tensor& target, size_t at) {
  const auto copied = [&]<class T>() {
    const std::span<const T> from = source.flat<T>();
    std::ranges::copy(from, target.mutable_flat<T>().subspan(at, from.size()).begin());
  };
  if (target.dtype() == DType::i64) return copied.operator()<int64_t>();
  if (target.dtype() == DType::f32) return copied.operator()<float>();
  copied.operator()<std::string>();
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
  const size_t before = values.size();
  Behind<std::string> texts{values.texts};
  Behind<float> reals{values.reals};
  Behind<int64_t> integers{values.integers};
  for (const std::string_view list : lists) {
    MR_TRY(dtype == DType::string ? read_texts(list, texts)
           : dtype == DType::f32  ? read_reals(list, reals)
                                  : read_integers(list, integers));
  }
  return values.size() - before;
}

Result<size_t> Feature::write_to(Tensor& target, size_t at, size_t room) const {
  const auto write = [&]<class T>(auto read) -> Result<size_t> {
    Into<T> into{room == 0 ? std::span<T>() : target.mutable_flat<T>().subspan(at, room)};
    for (const std::string_view list : lists) MR_TRY(read(list, into));
    return into.count;
  };
  if (dtype == DType::string) return write.operator()<std::string>(read_texts<Into<std::string>>);
  if (dtype == DType::f32) return write.operator()<float>(read_reals<Into<float>>);
  return write.operator()<int64_t>(read_integers<Into<int64_t>>);
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

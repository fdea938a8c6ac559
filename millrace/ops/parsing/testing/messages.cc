#include "millrace/ops/parsing/testing/messages.h"

#include "millrace/format/wire_format.h"

namespace millrace {

Tensor vector_of(std::vector<std::string> values) {
  return Tensor::vector<std::string>(std::span<const std::string>(values));
}

Tensor text(std::string value) { return Tensor::scalar(std::move(value)); }

std::string field_of(int number, std::string_view bytes) {
  std::string out;
  wire::put_bytes_field(&out, number, bytes);
  return out;
}

std::string ints(std::initializer_list<int64_t> values) {
  std::string packed;
  for (const int64_t value : values) wire::put_varint(&packed, static_cast<uint64_t>(value));
  return field_of(3, field_of(1, packed));
}

std::string floats(std::initializer_list<float> values) {
  return field_of(2, field_of(1, std::string_view(reinterpret_cast<const char*>(values.begin()),
                                                  values.size() * sizeof(float))));
}

std::string texts(std::initializer_list<std::string> values) {
  std::string list;
  for (const std::string& value : values) list += field_of(1, value);
  return field_of(1, list);
}

std::string steps(std::initializer_list<std::string> features) {
  std::string list;
  for (const std::string& feature : features) list += field_of(1, feature);
  return list;
}

std::string features(const Entries& entries) {
  std::string map;
  for (const auto& [key, value] : entries)
    map += field_of(1, field_of(1, key) + field_of(2, value));
  return map;
}

std::string example(const Entries& entries) { return field_of(1, features(entries)); }

std::string sequence(const Entries& context, const Entries& lists) {
  return example(context) + field_of(2, features(lists));
}

}  // namespace millrace

// The features of tf.train.Example and tf.train.SequenceExample, seen in the bytes of the message
// without copying:
//
//   Example          features = 1
//   SequenceExample  context = 1: Features, feature_lists = 2
//   Features         feature = 1: map of key = 1 to value = 2: Feature
//   FeatureLists     feature_list = 1: map of key = 1 to value = 2: FeatureList
//   FeatureList      feature = 1, repeated
//   Feature          one of bytes_list = 1, float_list = 2, int64_list = 3
//   …List            value = 1, repeated; numbers packed or one by one
//
// A view refers to the bytes. Errors are INVALID_ARGUMENT with the place in the message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "millrace/format/wire_format.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// Elements of one of the three types that features have, gathered from many of them.
struct FeatureValues {
  explicit FeatureValues(DType t) : dtype(t) {}

  size_t size() const;
  // A tensor of them. Requires as many elements as the shape has.
  Result<Tensor> tensor(const Shape& shape) const;
  void append_all(FeatureValues&& more);  // of the same type
  // Elements [begin, begin + count) into `target`, a tensor of the same type, from element `at` on.
  void copy_to(size_t begin, size_t count, Tensor& target, size_t at) const;

  DType dtype;
  std::vector<int64_t> integers;
  std::vector<float> reals;
  std::vector<std::string> texts;
};

// Copies all of `source` into `target`, of the same type, from element `at` on.
void copy_into(const Tensor& source, Tensor& target, size_t at);

// Fills `count` elements from element `at` on with the only one of `pad`; with zeros or "" if `pad`
// has none.
void fill_elements(Tensor& target, size_t at, size_t count, const Tensor& pad);

// One feature: its type (invalid if it holds nothing), and the bytes of its list.
struct Feature {
  DType dtype = DType::invalid;
  absl::InlinedVector<std::string_view, 1> lists;

  static Result<Feature> read(std::string_view bytes);
  // Appends the elements to `values`, of the same type. Gives how many there were.
  Result<size_t> append_to(FeatureValues& values) const;
  // Puts the first `room` elements into `target`, a tensor of the same type, from element `at` on.
  // Gives how many there were.
  Result<size_t> write_to(Tensor& target, size_t at, size_t room) const;
};

// visit(key, bytes of the value) for each entry of a map of Features or FeatureLists. What comes
// later under one key replaces what came before.
template <class Visit>
Status each_entry(std::string_view map, Visit visit) {
  wire::Reader reader(map);
  for (wire::Field field; reader.next(&field);) {
    if (!field.is(1, wire::WireType::bytes)) continue;
    wire::Reader entry(field.bytes);
    std::string_view key, value;
    for (wire::Field part; entry.next(&part);) {
      if (part.is(1, wire::WireType::bytes)) key = part.bytes;
      if (part.is(2, wire::WireType::bytes)) value = part.bytes;
    }
    MR_TRY(entry.status());
    MR_TRY(visit(key, value));
  }
  return reader.status();
}

// The bytes of all messages that stand in field `number`: one, but for writers that split it.
Result<absl::InlinedVector<std::string_view, 1>> messages_in(std::string_view bytes,
                                                             uint32_t number);

}  // namespace millrace

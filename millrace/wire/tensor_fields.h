// The parts of a TensorProto, for the codecs of this room: its head, its raw content, and the
// elements that are C++ objects. Private to this room.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "millrace/format/wire_format.h"
#include "millrace/tensor/tensor.h"
#include "millrace/wire/field_numbers.h"
#include "millrace/wire/tensor_codec.h"

namespace millrace::wire {

using enum fields::tensor_proto::Number;

// What typed lists of one message may still expand to, together.
class Budget {
 public:
  explicit Budget(const DecodeLimits& limits) : left_(limits.max_expanded_bytes) {}
  // RESOURCE_EXHAUSTED if that many elements of that many bytes are too much.
  Status take(size_t count, size_t element_bytes);

 private:
  size_t left_;
};

struct TensorHead {
  DType dtype = DType::invalid;
  Shape shape;
  std::string_view content;

  std::string to_string() const;  // "float[2,3]"
};

Result<TensorHead> read_tensor_head(Reader reader);
Result<Tensor> read_tensor(Reader reader, Budget& budget, int depth);

// OK if every byte is 0 or 1: anything else in a bool is undefined behaviour for all who read it.
Status check_bools(std::string_view bytes);

// Everything in front of the content: dtype, and shape unless scalar. Nothing without a value.
void put_tensor_head(std::string* out, const Tensor& tensor);
// The content of a plain tensor as it stands; of any other one encoded into `*scratch`.
std::string_view tensor_content(const Tensor& tensor, std::string* scratch);

// ---- Elements that are objects: object_codec.cc -------------------------------------------------

// Field `number` of each kind holds one element in the typed form.
int object_list_field(DType dtype);
// Raw form: a varint length per element, then the elements. `tensor` is allocated.
Status read_raw_objects(Reader content, Budget& budget, int depth, Tensor* tensor);
// Typed form: reads the fields of the whole TensorProto.
Status read_listed_objects(Reader message, Budget& budget, int depth, Tensor* tensor);
std::string encode_raw_objects(const Tensor& tensor);

}  // namespace millrace::wire

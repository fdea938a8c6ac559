// Shapes and dtypes on the wire. For this room, and for values that hold messages in their bytes.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/format/wire_format.h"
#include "millrace/tensor/dtype.h"
#include "millrace/tensor/shape.h"

namespace millrace::wire {

// TensorShapeProto and its Dim. The room above checks them against the .proto file.
namespace shape_fields {
enum Number : uint32_t { kDim = 2, kUnknownRank = 3, kDimSize = 1 };
}

// A TensorShapeProto. Errors: INVALID_ARGUMENT for malformed bytes, a dim below -1, an unknown rank
// that has dims, or what PartialShape::create refuses.
Result<PartialShape> read_partial_shape(Reader reader);
// The shape of a value: as above, but every dim must be known.
Result<Shape> read_shape(Reader reader);

// As field `number` of the message being written.
void put_shape(std::string* out, int number, const PartialShape& shape);
// As a message of its own.
void put_shape(std::string* out, const PartialShape& shape);

// A DataType of an attribute or a signature: X for X_REF, DType::invalid for 0. nullopt for a
// number that is no type.
std::optional<DType> dtype_or_ref_from_number(uint64_t number);

}  // namespace millrace::wire

// Tensors from NumPy arrays and Python scalars, and back.
//
// Only what needs no thought is converted here: a value whose type already is that of the tensor.
// The Python side (tensor_values.py) brings everything else (lists, other dtypes, other byte
// orders) into that form with NumPy first.
//
//   dtype                       NumPy
//   float … complex128          the dtype of the same name
//   string                      object arrays whose elements are bytes; str goes in as UTF-8
//   bfloat16                    float32, rounded on the way in, exact on the way out
//   quantized, float8, 4 bit    the integer dtype that stores them
//   resource, variant           nothing: they cannot leave the runtime
//
// What an array and a tensor may share: a tensor taken from an array either copies it or borrows it
// for the length of one step (see Lending). An array made from a tensor belongs to the program: it
// takes over the buffer if nobody else holds it, and is a copy otherwise, so that writing to it
// never changes a variable, a constant or a fed array.
//
// All functions need the GIL.
#pragma once

#include <optional>

#include <pybind11/pybind11.h>

#include "millrace/tensor/tensor.h"

namespace millrace::python {

// Loads NumPy's C interface; once, when the module is imported.
void load_numpy();

// The class of NumPy's scalars that values of a type come as (object_ for string); None for
// resource and variant.
pybind11::object numpy_class(DType dtype);

// A NumPy array, a NumPy scalar for rank 0, or bytes for a string scalar.
// Throws TypeError for resource and variant.
pybind11::object to_numpy(Tensor tensor);

// Whether a tensor may use an array's own memory.
enum class Lending : uint8_t {
  copy,      // always copy: the tensor may be kept for ever (constants)
  for_step,  // borrow large arrays: the caller sees to it that nobody keeps the tensor
};

// A tensor of `dtype` from a Python scalar, bytes or str, a NumPy scalar, or a NumPy array of
// exactly that dtype (object for string; dense, aligned and in this machine's byte order). nullopt
// if the value is none of these or does not fit; throws TypeError for an element of an object array
// that is neither bytes nor str, MemoryError if there is no memory.
std::optional<Tensor> tensor_from(pybind11::handle value, DType dtype, Lending lending);

}  // namespace millrace::python

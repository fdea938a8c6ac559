#include "millrace/python/numpy_tensor.h"

#include <complex>
#include <cstring>
#include <string>
#include <utility>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include "millrace/python/status_binding.h"
#include "millrace/tensor/visit_dtype.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

// Below this a copy is cheaper than the bookkeeping of sharing.
constexpr size_t kAdoptBytes = 4096;
// From here on, a block of ours (which the cache may have mapped already) beats NumPy's allocation.
constexpr size_t kCachedBytes = size_t{256} << 10;

// What NumPy has the elements of a C++ type as; -1: nothing of the kind.
template <class T>
constexpr int kNumpyType = -1;
template <>
constexpr int kNumpyType<float> = NPY_FLOAT32;
template <>
constexpr int kNumpyType<double> = NPY_FLOAT64;
template <>
constexpr int kNumpyType<Half> = NPY_FLOAT16;
template <>
constexpr int kNumpyType<BFloat16> = NPY_FLOAT32;  // widened
template <>
constexpr int kNumpyType<int64_t> = NPY_INT64;
template <>
constexpr int kNumpyType<int32_t> = NPY_INT32;
template <>
constexpr int kNumpyType<int16_t> = NPY_INT16;
template <>
constexpr int kNumpyType<int8_t> = NPY_INT8;
template <>
constexpr int kNumpyType<uint64_t> = NPY_UINT64;
template <>
constexpr int kNumpyType<uint32_t> = NPY_UINT32;
template <>
constexpr int kNumpyType<uint16_t> = NPY_UINT16;
template <>
constexpr int kNumpyType<uint8_t> = NPY_UINT8;
template <>
constexpr int kNumpyType<bool> = NPY_BOOL;
template <>
constexpr int kNumpyType<std::complex<float>> = NPY_COMPLEX64;
template <>
constexpr int kNumpyType<std::complex<double>> = NPY_COMPLEX128;
template <>
constexpr int kNumpyType<std::string> = NPY_OBJECT;

int numpy_type(DType dtype) {
  int type = -1;
  visit_dtype(dtype, [&]<class T>(std::type_identity<T>) { type = kNumpyType<T>; });
  return type;
}

py::object checked(PyObject* object) {
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

PyArrayObject* as_array(const py::object& object) {
  return reinterpret_cast<PyArrayObject*>(object.ptr());
}

py::object new_array(const Shape& shape, int type) {
  return checked(PyArray_SimpleNew(shape.rank(), const_cast<npy_intp*>(shape.dims().data()), type));
}

py::bytes to_bytes(const std::string& text) { return py::bytes(text.data(), text.size()); }

py::object string_array(const Tensor& tensor) {
  py::object array = new_array(tensor.shape(), NPY_OBJECT);
  auto** slots = static_cast<PyObject**>(PyArray_DATA(as_array(array)));
  for (const std::string& element : tensor.flat<std::string>()) {
    Py_XDECREF(*slots);
    *slots++ = to_bytes(element).release().ptr();
  }
  return array;
}

py::object widened_array(const Tensor& tensor) {
  py::object array = new_array(tensor.shape(), NPY_FLOAT32);
  auto* out = static_cast<float*>(PyArray_DATA(as_array(array)));
  for (const BFloat16 element : tensor.flat<BFloat16>()) *out++ = static_cast<float>(element);
  return array;
}

py::object copied_array(const Tensor& tensor, int type) {
  py::object array = new_array(tensor.shape(), type);
  if (tensor.num_bytes() > 0)
    std::memcpy(PyArray_DATA(as_array(array)), tensor.data(), tensor.num_bytes());
  return array;
}

// An array on the tensor's own buffer, which goes with the array.
py::object adopting_array(Tensor tensor, int type) {
  auto owned = std::make_unique<Tensor>(std::move(tensor));
  const Shape& shape = owned->shape();
  py::object array = checked(PyArray_SimpleNewFromData(
      shape.rank(), const_cast<npy_intp*>(shape.dims().data()), type, owned->mutable_data()));
  py::capsule owner(owned.get(), [](void* held) { delete static_cast<Tensor*>(held); });
  (void)owned.release();  // the capsule's
  if (PyArray_SetBaseObject(as_array(array), owner.release().ptr()) != 0)
    throw py::error_already_set();
  return array;
}

py::object scalar_of(const Tensor& tensor, int type) {
  if (tensor.dtype() == DType::string) return to_bytes(tensor.item<std::string>());
  const py::object descr = checked(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type)));
  auto* as_descr = reinterpret_cast<PyArray_Descr*>(descr.ptr());
  if (tensor.dtype() == DType::bf16) {
    float wide = static_cast<float>(tensor.item<BFloat16>());
    return checked(PyArray_Scalar(&wide, as_descr, nullptr));
  }
  return checked(PyArray_Scalar(const_cast<void*>(tensor.data()), as_descr, nullptr));
}

// ---- From Python -------------------------------------------------------------------------------

template <class T>
std::optional<Tensor> integer_scalar(PyObject* value) {
  int overflow = 0;
  const long long wide = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0 || !std::in_range<T>(wide)) return std::nullopt;
  return Tensor::scalar<T>(static_cast<T>(wide));
}

std::optional<Tensor> from_int(PyObject* value, DType dtype) {
  switch (dtype) {
    case DType::i32:
      return integer_scalar<int32_t>(value);
    case DType::i64:
      return integer_scalar<int64_t>(value);
    case DType::i16:
      return integer_scalar<int16_t>(value);
    case DType::i8:
      return integer_scalar<int8_t>(value);
    case DType::u8:
      return integer_scalar<uint8_t>(value);
    case DType::u16:
      return integer_scalar<uint16_t>(value);
    case DType::u32:
      return integer_scalar<uint32_t>(value);
    case DType::f32:
    case DType::f64: {
      const double wide = PyLong_AsDouble(value);
      if (wide == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return std::nullopt;
      }
      if (dtype == DType::f64) return Tensor::scalar(wide);
      return Tensor::scalar(static_cast<float>(wide));
    }
    default:
      return std::nullopt;
  }
}

std::optional<Tensor> from_float(double value, DType dtype) {
  if (dtype == DType::f32) return Tensor::scalar(static_cast<float>(value));
  if (dtype == DType::f64) return Tensor::scalar(value);
  return std::nullopt;
}

// False if the object is neither bytes nor str.
bool read_text(PyObject* value, std::string* text) {
  if (PyBytes_Check(value)) {
    text->assign(PyBytes_AS_STRING(value), static_cast<size_t>(PyBytes_GET_SIZE(value)));
    return true;
  }
  if (!PyUnicode_Check(value)) return false;
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(value, &size);
  if (utf8 == nullptr) throw py::error_already_set();
  text->assign(utf8, static_cast<size_t>(size));
  return true;
}

// C has two names for the 64-bit integers, and NumPy a type number for each.
int same_bits_type(int type) {
  if (type == NPY_LONGLONG) return NPY_INT64;
  if (type == NPY_ULONGLONG) return NPY_UINT64;
  return type;
}

Result<Shape> shape_of(PyArrayObject* array) {
  const npy_intp* dims = PyArray_DIMS(array);
  return Shape::create({dims, static_cast<size_t>(PyArray_NDIM(array))});
}

Tensor strings_of(PyArrayObject* array, const Shape& shape) {
  Tensor tensor = check_argument(Tensor::allocate(DType::string, shape));
  auto** elements = static_cast<PyObject**>(PyArray_DATA(array));
  for (std::string& out : tensor.mutable_flat<std::string>()) {
    PyObject* element = *elements++;
    if (element != nullptr && read_text(element, &out)) continue;
    const py::object shown = element ? py::reinterpret_borrow<py::object>(element) : py::none();
    throw py::type_error("Expected binary or unicode string, got " + std::string(py::repr(shown)));
  }
  return tensor;
}

// Borrows the array's memory; the array lives as long as the buffer.
Tensor lent(PyArrayObject* array, DType dtype, const Shape& shape) {
  Py_INCREF(array);
  auto buffer = Buffer::borrow_for_step(PyArray_DATA(array),
                                        static_cast<size_t>(PyArray_NBYTES(array)), [array] {
                                          // Whoever drops the buffer last may be a thread that
                                          // knows nothing of Python. After Python's end there is
                                          // nothing to give back.
                                          if (!Py_IsInitialized()) return;
                                          py::gil_scoped_acquire gil;
                                          Py_DECREF(array);
                                        });
  return check_argument(Tensor::on_buffer(dtype, shape, std::move(buffer)));
}

std::optional<Tensor> from_array(PyArrayObject* array, DType dtype, Lending lending) {
  if (same_bits_type(PyArray_TYPE(array)) != numpy_type(dtype) || !PyArray_ISCARRAY_RO(array))
    return std::nullopt;
  const Shape shape = check_argument(shape_of(array));
  if (dtype == DType::string) return strings_of(array, shape);
  if (dtype == DType::bf16) {
    Tensor tensor = check_argument(Tensor::allocate(dtype, shape));
    const auto* in = static_cast<const float*>(PyArray_DATA(array));
    for (BFloat16& out : tensor.mutable_flat<BFloat16>()) out = BFloat16(*in++);
    return tensor;
  }
  const auto bytes = static_cast<size_t>(PyArray_NBYTES(array));
  if (lending == Lending::for_step && bytes >= kCachedBytes) return lent(array, dtype, shape);
  Tensor tensor = check_argument(Tensor::allocate(dtype, shape));
  if (bytes > 0) std::memcpy(tensor.mutable_data(), PyArray_DATA(array), bytes);
  return tensor;
}

std::optional<Tensor> from_numpy_scalar(PyObject* value, DType dtype) {
  const py::object descr = checked(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(value)));
  const int type = reinterpret_cast<PyArray_Descr*>(descr.ptr())->type_num;
  if (same_bits_type(type) != numpy_type(dtype) || dtype == DType::string || dtype == DType::bf16)
    return std::nullopt;
  Tensor tensor = check_argument(Tensor::allocate(dtype, Shape()));
  PyArray_ScalarAsCtype(value, tensor.mutable_data());
  return tensor;
}

}  // namespace

void load_numpy() {
  if (_import_array() < 0) throw py::error_already_set();
}

py::object numpy_class(DType dtype) {
  const int type = numpy_type(dtype);
  if (type < 0) return py::none();
  return checked(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type))).attr("type");
}

py::object to_numpy(Tensor tensor) {
  const int type = numpy_type(tensor.dtype());
  if (type < 0) {
    throw py::type_error("a " + std::string(dtype_name(tensor.dtype())) +
                         " tensor cannot become a NumPy array: it only has a meaning inside the "
                         "runtime");
  }
  if (tensor.shape().is_scalar()) return scalar_of(tensor, type);
  if (tensor.dtype() == DType::string) return string_array(tensor);
  if (tensor.dtype() == DType::bf16) return widened_array(tensor);
  if (tensor.num_bytes() >= kAdoptBytes && tensor.is_sole_owner())
    return adopting_array(std::move(tensor), type);
  if (tensor.num_bytes() < kCachedBytes) return copied_array(tensor, type);
  return adopting_array(check_argument(tensor.clone()), type);
}

std::optional<Tensor> tensor_from(py::handle value, DType dtype, Lending lending) {
  PyObject* object = value.ptr();
  if (PyFloat_CheckExact(object)) return from_float(PyFloat_AS_DOUBLE(object), dtype);
  if (PyLong_CheckExact(object)) return from_int(object, dtype);
  if (PyArray_Check(object))
    return from_array(reinterpret_cast<PyArrayObject*>(object), dtype, lending);
  if (PyBool_Check(object)) {
    if (dtype != DType::boolean) return std::nullopt;
    return Tensor::scalar(object == Py_True);
  }
  if (dtype == DType::string) {
    std::string text;
    if (!read_text(object, &text)) return std::nullopt;
    return Tensor::scalar(std::move(text));
  }
  if (PyArray_IsScalar(object, Generic)) return from_numpy_scalar(object, dtype);
  return std::nullopt;
}

}  // namespace millrace::python

#include "millrace/python/attr_conversion.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace millrace::python {
namespace {

Status mismatch(std::string_view kind, py::handle value) {
  return invalid("expected ", kind, ", got ", std::string(py::repr(value)), " of type '",
                 Py_TYPE(value.ptr())->tp_name, "'");
}

bool is_sequence(py::handle value) {
  return PyList_Check(value.ptr()) || PyTuple_Check(value.ptr());
}

// One function per kind, so that lists are the same for all of them.

Result<std::string> one(std::type_identity<std::string>, py::handle value) {
  if (PyBytes_Check(value.ptr())) return std::string(py::reinterpret_borrow<py::bytes>(value));
  if (PyUnicode_Check(value.ptr())) return value.cast<std::string>();
  return mismatch("string", value);
}

Result<int64_t> one(std::type_identity<int64_t>, py::handle value) {
  // A number with a fraction loses it, as where TensorFlow's wrappers take a 4.0 for a 4.
  constexpr double kTooLarge = 9223372036854775808.0;
  if (PyFloat_Check(value.ptr())) {
    const double wide = std::trunc(PyFloat_AsDouble(value.ptr()));
    if (!(std::abs(wide) < kTooLarge)) return mismatch("int", value);
    return static_cast<int64_t>(wide);
  }
  if (PyBool_Check(value.ptr()) || !PyIndex_Check(value.ptr())) return mismatch("int", value);
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  int overflow = 0;
  const long long wide = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0)
    return invalid("expected int, got ", std::string(py::repr(value)),
                   ", which does not fit 64 bits");
  return int64_t{wide};
}

Result<float> one(std::type_identity<float>, py::handle value) {
  if (PyBool_Check(value.ptr())) return mismatch("float", value);
  const double wide = PyFloat_AsDouble(value.ptr());
  if (wide == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    return mismatch("float", value);
  }
  return static_cast<float>(wide);
}

Result<bool> one(std::type_identity<bool>, py::handle value) {
  if (!PyBool_Check(value.ptr())) return mismatch("bool", value);
  return value.ptr() == Py_True;
}

Result<DType> one(std::type_identity<DType>, py::handle value) {
  MR_ASSIGN(const int64_t number, one(std::type_identity<int64_t>(), value).with("a type"));
  if (number > 0 && number <= kMaxDType) {
    if (const auto dtype = dtype_from_number(static_cast<int>(number))) return *dtype;
  }
  return mismatch("the number of a type", value);
}

Result<PartialShape> one(std::type_identity<PartialShape>, py::handle value) {
  return shape_from_python(value);
}

Result<Tensor> one(std::type_identity<Tensor>, py::handle value) {
  if (!py::isinstance<Tensor>(value)) return mismatch("tensor", value);
  return value.cast<Tensor>();
}

std::string kind_of(py::handle value);

Result<FunctionRef> one(std::type_identity<FunctionRef>, py::handle value) {
  FunctionRef made;
  if (PyUnicode_Check(value.ptr())) {
    made.name = value.cast<std::string>();
    return made;
  }
  if (!PyTuple_Check(value.ptr()) || PyTuple_GET_SIZE(value.ptr()) != 2)
    return mismatch("func", value);
  const auto pair = py::reinterpret_borrow<py::tuple>(value);
  made.name = py::str(pair[0]);
  for (const auto& [name, attr] : py::reinterpret_borrow<py::dict>(pair[1])) {
    MR_ASSIGN(AttrValue converted, attr_from_python(kind_of(attr), attr));
    made.attrs.emplace_back(py::str(name), std::move(converted));
  }
  return made;
}

template <class T>
Result<AttrValue> convert(bool is_list, py::handle value) {
  if (!is_list) {
    MR_ASSIGN(T made, one(std::type_identity<T>(), value));
    return AttrValue(std::move(made));
  }
  if (!is_sequence(value)) return mismatch("a list", value);
  AttrValue::List<T> items;
  for (const py::handle item : py::reinterpret_borrow<py::sequence>(value)) {
    MR_ASSIGN(T made, one(std::type_identity<T>(), item));
    items.push_back(std::move(made));
  }
  return AttrValue(std::move(items));
}

// For attributes that the op does not declare.
std::string kind_of(py::handle value) {
  PyObject* object = value.ptr();
  if (PyBytes_Check(object) || PyUnicode_Check(object)) return "string";
  if (PyBool_Check(object)) return "bool";
  if (PyLong_Check(object)) return "int";
  if (PyFloat_Check(object)) return "float";
  if (py::isinstance<Tensor>(value)) return "tensor";
  if (is_sequence(value)) {
    const auto items = py::reinterpret_borrow<py::sequence>(value);
    return "list(" + (items.empty() ? "string" : kind_of(py::object(items[0]))) + ")";
  }
  return "string";
}

py::object to_python(const std::string& value) { return py::bytes(value); }
py::object to_python(int64_t value) { return py::int_(value); }
py::object to_python(float value) { return py::float_(value); }
py::object to_python(bool value) { return py::bool_(value); }
py::object to_python(DType value) { return py::int_(static_cast<int>(value)); }
py::object to_python(const PartialShape& value) { return shape_to_python(value); }
py::object to_python(const Tensor& value) { return py::cast(value); }
py::object to_python(const FunctionRef& value) {
  py::dict attrs;
  for (const auto& [name, attr] : value.attrs) attrs[py::str(name)] = attr_to_python(attr);
  return py::make_tuple(value.name, attrs);
}

py::object list_to_python(const AttrValue::ListValue& list) {
  py::list made;
  std::visit(
      [&](const auto& items) {
        using T = typename std::decay_t<decltype(items)>::value_type;
        for (const T& item : items) made.append(to_python(item));
      },
      list);
  return made;
}

py::object value_to_python(const AttrValue& value) {
  if (const auto* held = value.as_string()) return to_python(*held);
  if (const auto* held = value.as_int()) return to_python(*held);
  if (const auto* held = value.as_float()) return to_python(*held);
  if (const auto* held = value.as_bool()) return to_python(*held);
  if (const auto* held = value.as_type()) return to_python(*held);
  if (const auto* held = value.as_shape()) return to_python(*held);
  if (const auto* held = value.as_tensor()) return to_python(*held);
  if (const auto* held = value.as_func()) return to_python(*held);
  if (const auto* held = value.as_list()) return list_to_python(*held);
  if (const auto* held = value.as_placeholder()) return py::str(held->name);
  return py::none();
}

}  // namespace

Result<AttrValue> attr_from_python(std::string_view kind, py::handle value) {
  std::string_view element = kind;
  const bool is_list = kind.starts_with("list(");
  if (is_list) element = kind.substr(5, kind.size() - 6);
  if (element == "string") return convert<std::string>(is_list, value);
  if (element == "int") return convert<int64_t>(is_list, value);
  if (element == "float") return convert<float>(is_list, value);
  if (element == "bool") return convert<bool>(is_list, value);
  if (element == "type") return convert<DType>(is_list, value);
  if (element == "shape") return convert<PartialShape>(is_list, value);
  if (element == "tensor") return convert<Tensor>(is_list, value);
  if (element == "func") return convert<FunctionRef>(is_list, value);
  return invalid("attributes of kind '", kind, "' cannot be set from Python");
}

py::object attr_to_python(const AttrValue& value) {
  return py::make_tuple(value.kind(), value_to_python(value));
}

Result<Attrs> attrs_from_python(const OpDef& op, const py::dict& values) {
  std::vector<Attrs::Entry> entries;
  for (const auto& [key, value] : values) {
    if (value.is_none() && op.find_attr(std::string(py::str(key))) == nullptr) continue;
    const std::string name = py::str(key);
    if (py::isinstance<AttrValue>(value)) {
      entries.emplace_back(name, value.cast<AttrValue>());
      continue;
    }
    const AttrDef* attr = op.find_attr(name);
    if (value.is_none() && attr->kind != "shape") continue;
    auto converted = attr_from_python(attr ? attr->kind : kind_of(value), value);
    if (!converted.ok())
      return converted.status().with(str_cat("attribute '", name, "' of ", op.name));
    entries.emplace_back(name, std::move(converted).value());
  }
  return Attrs(std::move(entries));
}

py::object shape_to_python(const PartialShape& shape) {
  if (!shape.has_rank()) return py::none();
  py::tuple dims(shape.rank());
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t dim = shape.dim(axis);
    dims[axis] = dim == kUnknownDim ? py::object(py::none()) : py::object(py::int_(dim));
  }
  return dims;
}

Result<PartialShape> shape_from_python(py::handle value) {
  if (value.is_none()) return PartialShape::unknown();
  if (!is_sequence(value)) return mismatch("a shape", value);
  std::vector<int64_t> dims;
  for (const py::handle item : py::reinterpret_borrow<py::sequence>(value)) {
    if (item.is_none()) {
      dims.push_back(kUnknownDim);
      continue;
    }
    MR_ASSIGN(const int64_t dim, one(std::type_identity<int64_t>(), item).with("a dimension"));
    dims.push_back(dim);
  }
  return PartialShape::create(dims);
}

}  // namespace millrace::python

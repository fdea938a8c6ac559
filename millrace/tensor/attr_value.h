// AttrValue: the compile-time argument of an op, as TensorFlow's AttrValue message carries it.
//
// A small value: large alternatives are shared and immutable, so copying a node is cheap.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/tensor/dtype.h"
#include "millrace/tensor/shape.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

class AttrValue;

// A function by name, with values for its attributes.
struct FunctionRef {
  std::string name;
  std::vector<std::pair<std::string, AttrValue>> attrs;
};

// "an attribute of a function" (only inside function bodies): which one.
struct AttrPlaceholder {
  std::string name;
  friend bool operator==(const AttrPlaceholder&, const AttrPlaceholder&) = default;
};

class AttrValue {
 public:
  template <class T>
  using List = std::vector<T>;
  using ListValue = std::variant<List<std::string>, List<int64_t>, List<float>, List<bool>,
                                 List<DType>, List<PartialShape>, List<Tensor>, List<FunctionRef>>;

  AttrValue() = default;  // no value
  // NOLINTBEGIN(google-explicit-constructor): attributes are written as plain values.
  AttrValue(std::string value) : value_(std::make_shared<const std::string>(std::move(value))) {}
  AttrValue(std::string_view value) : AttrValue(std::string(value)) {}
  AttrValue(const char* value) : AttrValue(std::string(value)) {}
  AttrValue(int64_t value) : value_(value) {}
  AttrValue(int value) : value_(static_cast<int64_t>(value)) {}
  AttrValue(float value) : value_(value) {}
  AttrValue(bool value) : value_(value) {}
  AttrValue(DType value) : value_(value) {}
  AttrValue(PartialShape value) : value_(std::make_shared<const PartialShape>(std::move(value))) {}
  AttrValue(Shape value) : AttrValue(PartialShape(value)) {}
  AttrValue(Tensor value) : value_(std::make_shared<const Tensor>(std::move(value))) {}
  AttrValue(FunctionRef value) : value_(std::make_shared<const FunctionRef>(std::move(value))) {}
  AttrValue(AttrPlaceholder value)
      : value_(std::make_shared<const AttrPlaceholder>(std::move(value))) {}
  AttrValue(ListValue value) : value_(std::make_shared<const ListValue>(std::move(value))) {}
  template <class T>
  AttrValue(List<T> value) : AttrValue(ListValue(std::move(value))) {}
  // NOLINTEND(google-explicit-constructor)

  bool has_value() const { return value_.index() != 0; }
  // TensorFlow's word for what it holds: "string", "int", "float", "bool", "type", "shape",
  // "tensor", "func", "placeholder", "list(int)" …; "list()" for an empty list; "nothing".
  std::string kind() const;

  // Null if it holds something else. An empty list answers for every element type.
  const std::string* as_string() const { return as_shared<std::string>(); }
  const int64_t* as_int() const { return std::get_if<int64_t>(&value_); }
  const float* as_float() const { return std::get_if<float>(&value_); }
  const bool* as_bool() const { return std::get_if<bool>(&value_); }
  const DType* as_type() const { return std::get_if<DType>(&value_); }
  const PartialShape* as_shape() const { return as_shared<PartialShape>(); }
  const Tensor* as_tensor() const { return as_shared<Tensor>(); }
  const FunctionRef* as_func() const { return as_shared<FunctionRef>(); }
  const AttrPlaceholder* as_placeholder() const { return as_shared<AttrPlaceholder>(); }
  const ListValue* as_list() const { return as_shared<ListValue>(); }
  template <class T>
  const List<T>* as_list_of() const;

  friend bool operator==(const AttrValue& a, const AttrValue& b);
  // As in the graph text form: 3, 1.5, true, "text", float, [2,?], {1, 2}, tensor(int32[2] 1 2).
  std::string to_string() const;

 private:
  template <class T>
  const T* as_shared() const {
    const auto* held = std::get_if<std::shared_ptr<const T>>(&value_);
    return held ? held->get() : nullptr;
  }

  std::variant<std::monostate, int64_t, float, bool, DType, std::shared_ptr<const std::string>,
               std::shared_ptr<const PartialShape>, std::shared_ptr<const Tensor>,
               std::shared_ptr<const FunctionRef>, std::shared_ptr<const AttrPlaceholder>,
               std::shared_ptr<const ListValue>>
      value_;
};

bool operator==(const FunctionRef& a, const FunctionRef& b);

template <class T>
const AttrValue::List<T>* AttrValue::as_list_of() const {
  static const List<T> kEmpty;
  const ListValue* list = as_list();
  if (list == nullptr) return nullptr;
  if (const auto* typed = std::get_if<List<T>>(list)) return typed;
  const bool is_empty = std::visit([](const auto& items) { return items.empty(); }, *list);
  return is_empty ? &kEmpty : nullptr;
}

}  // namespace millrace

// Input: what may stand where an op takes a value: an output of another node, a tensor, or a
// literal.
//
//   ops::add(scope, x, 1)                         // 1 becomes a constant of x's type
//   ops::queue_enqueue(scope, queue, {"a.txt"})   // a string constant
//
// A literal has no type of its own if the op ties it to another input; alone, int literals are
// int32 and floating ones float, as in the Python front-end. A value that its type can't hold is an
// error of building, not a wrong constant.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "millrace/api/scope.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// Numbers or strings as written in a program.
class Literal {
 public:
  using Elements = std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string>,
                                std::vector<bool>>;

  static Literal scalar(Elements element);
  static Literal vector(Elements elements);

  // The type it has where nothing else decides.
  DType natural_dtype() const;
  // Errors: INVALID_ARGUMENT for a value that `dtype` can't hold, or a dtype of another kind.
  Result<Tensor> to_tensor(DType dtype) const;

 private:
  Literal(Shape shape, Elements elements);

  Shape shape_;
  Elements elements_;
};

class Input {
 public:
  // NOLINTBEGIN(google-explicit-constructor): inputs are written as plain values.
  Input(Output output) : value_(std::move(output)) {}
  Input(Tensor tensor) : value_(std::move(tensor)) {}
  template <class T>
  requires std::is_arithmetic_v<T> Input(T value)
      : value_(Literal::scalar(elements_of(&value, 1))) {}
  Input(const char* text) : Input(std::string(text)) {}
  Input(std::string text) : value_(Literal::scalar(elements_of(&text, 1))) {}
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_convertible_v<T, std::string>)
      Input(std::initializer_list<T> values)
      : value_(Literal::vector(elements_of(values.begin(), values.size()))) {}
  template <class T>
      Input(const std::vector<T>& values) requires(std::is_arithmetic_v<T> &&
                                                   !std::is_same_v<T, bool>) ||
      std::is_same_v<T, std::string>
      : value_(Literal::vector(elements_of(values.data(), values.size()))) {}
  // NOLINTEND(google-explicit-constructor)

  // Known unless it is a literal.
  const Output* output() const { return std::get_if<Output>(&value_); }
  const Tensor* tensor() const { return std::get_if<Tensor>(&value_); }
  const Literal* literal() const { return std::get_if<Literal>(&value_); }

 private:
  template <class T>
  static Literal::Elements elements_of(const T* values, size_t count) {
    if constexpr (std::is_same_v<T, bool>) {
      return std::vector<bool>(values, values + count);
    } else if constexpr (std::is_integral_v<T>) {
      return std::vector<int64_t>(values, values + count);
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::vector<double>(values, values + count);
    } else {
      return std::vector<std::string>(values, values + count);
    }
  }

  std::variant<Output, Tensor, Literal> value_;
};

using InputList = std::vector<Input>;

// A constant in the graph. A literal becomes `dtype`, or what it is by nature.
Output constant(const Scope& scope, const Input& value, DType dtype = DType::invalid);

// Element by element, with NumPy's broadcasting; the node goes where the left value's scope began.
Output operator+(const Output& a, const Input& b);
Output operator-(const Output& a, const Input& b);
Output operator*(const Output& a, const Input& b);
Output operator/(const Output& a, const Input& b);
Output operator-(const Output& a);

}  // namespace millrace

// Spelling out the elements of tensors: for AsString with printf's options, for Assert and Print as
// a summary for people.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

enum class Notation : uint8_t { fixed, scientific, shortest };

struct NumberFormat {
  int64_t precision = -1;  // digits after the point; -1 as many as printf gives
  int64_t width = -1;      // at least so many characters
  std::string fill = "";   // one of printf's flags: "", " ", "0", "-", "+"
  Notation notation = Notation::fixed;

  // Errors: INVALID_ARGUMENT for a fill that is no flag, a width or precision over 500.
  Status check() const;
  // Element `index`. The tensor may be of any type but resource and variant, which have no text.
  std::string text_of(const Tensor& tensor, size_t index) const;
};

// "1 2 3" for a vector, "[1 2][3 4]" for a matrix; "..." after `most` elements (negative: all).
std::string summary(const Tensor& tensor, int64_t most);

}  // namespace millrace

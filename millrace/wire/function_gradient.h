// The gradient that a library declares for a function.
#pragma once

#include <string_view>

namespace millrace::wire {

// The attribute of a FunctionDef that names it: a function of what that one takes and of the
// gradients of its results. On the wire it is a GradientDef, beside the functions, which reading a
// graph makes the attribute, and writing one makes of it.
inline constexpr std::string_view kGradientAttr = "_gradient_func";

}  // namespace millrace::wire

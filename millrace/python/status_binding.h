// How a Status becomes a Python exception.
//
// Errors of running (sessions, servers) become the classes of `millrace.errors`, one per code.
// Errors of building a graph become what Python programs expect of a wrong argument: ValueError for
// INVALID_ARGUMENT, and so on. The Python side owns the classes; this is only the bridge.
//
// All functions need the GIL.
#pragma once

#include <utility>

#include <pybind11/pybind11.h>

#include "millrace/base/result.h"

namespace millrace::python {

// Throws the exception of `millrace.errors` for the error `status`.
[[noreturn]] void throw_error(const Status& status);
// Throws ValueError, TypeError, KeyError or MemoryError: `status` is about an argument.
[[noreturn]] void throw_argument_error(const Status& status);

inline void check(const Status& status) {
  if (!status.ok()) throw_error(status);
}
template <class T>
T check(Result<T> result) {
  if (!result.ok()) throw_error(result.status());
  return std::move(result).value();
}
inline void check_argument(const Status& status) {
  if (!status.ok()) throw_argument_error(status);
}
template <class T>
T check_argument(Result<T> result) {
  if (!result.ok()) throw_argument_error(result.status());
  return std::move(result).value();
}

}  // namespace millrace::python

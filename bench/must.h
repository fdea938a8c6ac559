// A benchmark that can't measure ends with the reason.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "millrace/base/result.h"

namespace millrace::bench {

inline void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  must(result.status());
  return std::move(result).value();
}

}  // namespace millrace::bench

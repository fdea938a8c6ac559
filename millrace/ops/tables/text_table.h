// Keys and values of a table from the lines of a text file.
#pragma once

#include <string>
#include <utility>

#include "millrace/base/files.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

struct TextTable {
  static constexpr int64_t kWholeLine = -2;
  static constexpr int64_t kLineNumber = -1;

  std::string file;
  DType key = DType::invalid, value = DType::invalid;
  // kWholeLine, kLineNumber, or which column of the line.
  int64_t key_index = kWholeLine, value_index = kLineNumber;
  int64_t most_lines = -1;  // only the first so many, which there must be; -1: all
  char delimiter = '\t';
  int64_t offset = 0;  // of line numbers

  // Vectors of keys and values. Reads the file: waits inside system calls.
  // Errors: what the files say (NOT_FOUND); INVALID_ARGUMENT, with the file and line, for
  // columns that are not there, what is no number, lines over 64 MiB, or empty ones.
  Result<std::pair<Tensor, Tensor>> read(Files& files) const;
  // What can be refused without reading. Errors: INVALID_ARGUMENT.
  Status check() const;
};

}  // namespace millrace

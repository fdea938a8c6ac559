// Records of CSV files: the bytes of a record as they lie in the file, without the end of the line
// that ends it. Line ends in quotes are part of it.
#pragma once

#include "millrace/ops/parsing/csv_fields.h"
#include "millrace/ops/readers/work_reader.h"

namespace millrace::data {

struct CsvFiles {
  CsvFormat format;
  bool has_header = false;  // its first record is left out
  io::Packing packing = io::Packing::none;
};

// Keys are empty. Lines end with "\n", "\r" or both. Errors of reading: INVALID_ARGUMENT for a
// header that is not there, quotes that are not closed, and a record of more than 64 MiB.
OpenWork csv_records_of_work(const CsvFiles& files);

}  // namespace millrace::data

// Records of files as the elements of a walk, and what datasets of files are given.
#pragma once

#include <string>
#include <vector>

#include "millrace/io/byte_source.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/readers/work_reader.h"

namespace millrace::data {

// The records of files one after another, each an element of one string. They are read where
// blocking is allowed, in pieces of many, some pieces ahead of who takes them. What can't be read
// is an error in its place, and the rest of its file is left out. Errors: FAILED_PRECONDITION if
// there are no files where the walk is.
Result<IteratorPtr> records_of_files(const IterationHost& host, std::vector<std::string> names,
                                     OpenWork open);

// Errors: INVALID_ARGUMENT unless it is a scalar or a vector.
Result<std::vector<std::string>> filenames_at(DatasetInputs& inputs, int slot);

// Errors: INVALID_ARGUMENT for a name that stands for no packing.
Result<io::Packing> packing_at(const DatasetInputs& inputs, int slot);

}  // namespace millrace::data

// What Restore, RestoreSlice and RestoreV2 have in common where a checkpoint is of the first
// format.
#pragma once

#include <string>

#include "millrace/io/first_format_reader.h"

namespace millrace {

// A tensor, or a slice of it ("20 30 0,10:-"; "" for all), which must be of type `dtype`.
// Errors: INVALID_ARGUMENT for another type or shape, and what the reader says.
Result<Tensor> restore_of_first_format(const io::FirstFormatReader& reader, const std::string& name,
                                       const std::string& slice, DType dtype);

}  // namespace millrace

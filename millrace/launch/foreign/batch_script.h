// Batch scripts of Slurm: what the #SBATCH lines ask for, and what srun starts.
#pragma once

#include <string_view>

#include "millrace/base/result.h"
#include "millrace/launch/foreign/import_account.h"

namespace millrace {

// True for a text with #SBATCH lines, and for any other shell script.
bool is_batch_script(std::string_view text);

// A script that holds a job file (what `millrace explain --on slurm` prints) is that job. Errors:
// INVALID_ARGUMENT with the line.
Status import_batch_script(const SourceFile& file, Import& import);

}  // namespace millrace

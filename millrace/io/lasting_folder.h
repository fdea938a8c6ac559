// Folders that are there after the machine went down.
#pragma once

#include <string>

#include "millrace/io/lasting_files.h"

namespace millrace::io {

// Makes the folder so that it lasts, with all above it that have to be made. One that is there is
// fine. Errors: those of files.
Status make_lasting_folder(LastingFiles& files, const std::string& path);

}  // namespace millrace::io

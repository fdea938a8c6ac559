// LastingFiles: files that can promise to be there after the machine went down, and to be one
// process's alone. The local disk can; not every kind of Files will.
//
// What was appended lasts from WritableFile::sync() on; that a file is called so, or is gone, from
// sync_folder() on. Thread-safe.
#pragma once

#include "millrace/base/files.h"

namespace millrace {

// Held while it is in scope; a process that ends, however it does, lets go of it.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class LastingFiles : public Files {
 public:
  // Returns when what was made, renamed and removed in the folder would survive the machine.
  virtual Status sync_folder(const std::string& path) = 0;
  // Takes the file for this process, and makes it if need be. Errors: FAILED_PRECONDITION if
  // another holder has it; nobody waits.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
};

}  // namespace millrace

// MachineFiles: the files that graphs of this process reach, for the front-end's own use: the disk,
// and remote stores by the scheme of a path (io/remote/every_file.h).
#pragma once

#include <memory>

#include "millrace/base/files.h"
#include "millrace/python/op_library.h"

namespace millrace::python {

class MachineFiles {
 public:
  explicit MachineFiles(std::shared_ptr<OpLibrary> library) : library_(std::move(library)) {}
  Files& files() const { return library_->runtime->host().files; }

 private:
  const std::shared_ptr<OpLibrary> library_;
};

}  // namespace millrace::python

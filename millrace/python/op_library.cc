#include "millrace/python/op_library.h"

#include "millrace/ops/all.h"

namespace millrace::python {

Result<std::shared_ptr<OpLibrary>> OpLibrary::create() {
  auto library = std::make_shared<OpLibrary>();
  MR_TRY(register_all_ops(library->registry));
  return library;
}

}  // namespace millrace::python

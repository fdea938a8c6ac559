#include "millrace/ops/onednn/library.h"

#include <dlfcn.h>

#include "millrace/base/str_cat.h"

namespace millrace::onednn {
namespace {

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

bool find_all(void* handle, Library& made) {
  bool found = find(handle, "omp_get_max_threads", made.get_max_threads) &&
               find(handle, "omp_set_num_threads", made.set_num_threads);
#define MR_DNNL(name) found = found && find(handle, "dnnl_" #name, made.name);
  MR_DNNL_FUNCTIONS
#undef MR_DNNL
  return found;
}

const Library* load() {
  // By the version that the header is of: descriptors are structs, laid out as it says.
  const std::string name = str_cat("libdnnl.so.", DNNL_VERSION_MAJOR);
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  static Library made;
  if (!find_all(handle, made)) return nullptr;
  if (made.engine_create(&made.engine, dnnl_cpu, 0) != dnnl_success) return nullptr;
  return &made;
}

}  // namespace

const Library* library() {
  static const Library* const kLoaded = load();
  return kLoaded;
}

Status status_of(dnnl_status_t status, const char* doing) {
  switch (status) {
    case dnnl_success:
      return {};
    case dnnl_unimplemented:
    case dnnl_invalid_arguments:
      return unimplemented("oneDNN lacks this kind of ", doing);
    case dnnl_out_of_memory:
      return error(Code::resource_exhausted, "oneDNN ran out of memory in ", doing);
    default:
      return internal("oneDNN failed with status ", static_cast<int>(status), " in ", doing);
  }
}

}  // namespace millrace::onednn

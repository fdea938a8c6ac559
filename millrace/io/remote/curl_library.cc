#include "millrace/io/remote/curl_library.h"

#include <dlfcn.h>

// By its name: the header makes a macro of it, which looks at its arguments' types.
#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace millrace::remote {
namespace {

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

bool find_all(void* handle, CurlLibrary& made) {
  bool found = true;
#define MR_CURL(name) found = found && find(handle, "curl_" #name, made.name);
  MR_CURL_FUNCTIONS
#undef MR_CURL
  return found;
}

void* opened() {
  // The library binds to the OpenSSL of the system, also in a program that carries one of its own.
  // A sanitizer's runtime can't have that; programs with one carry none.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const int how = RTLD_NOW | RTLD_LOCAL;
#else
  const int how = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
    if (void* const handle = dlopen(name, how)) return handle;
  return nullptr;
}

Result<const CurlLibrary*> load() {
  void* const handle = opened();
  static CurlLibrary made;
  if (handle == nullptr) {
    return unimplemented(
        "what is asked by HTTP goes through libcurl, which this system has not: install Debian's "
        "package libcurl4 (libcurl.so.4)");
  }
  if (!find_all(handle, made) || made.global_init(CURL_GLOBAL_ALL) != CURLE_OK)
    return unimplemented("the libcurl of this system is too old, or does not start");
  return &made;
}

}  // namespace

Result<const CurlLibrary*> curl_library() {
  static const Result<const CurlLibrary*> kLoaded = load();
  return kLoaded;
}

}  // namespace millrace::remote

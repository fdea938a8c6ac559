// Part of openssl/evp.h: those functions of it and its kin that programs of ours call. Each goes on
// to OpenSSL's libcrypto, which the first call loads.
//
// Linked, it would be bound by every process at its start, which takes as long as all other
// libraries of a task together; tasks that speak neither to S3 nor to Hadoop have nothing of it
// (tools/cmake/taken_in.cmake). A system without it is told as it would be at the start.
#include <dlfcn.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/opensslv.h>
#include <unistd.h>

#include <cstdio>

namespace {

constexpr const char* kLibrary = "libcrypto.so." OPENSSL_MSTR(OPENSSL_SHLIB_VERSION);
constexpr int kCanNotRun = 127;  // as the loader of programs says it

void* loaded() {
  static void* const kHandle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  return kHandle;
}

template <class Function>
Function* found(const char* name, Function*) {
  void* const handle = loaded();
  void* const function = handle == nullptr ? nullptr : dlsym(handle, name);
  if (function != nullptr) return reinterpret_cast<Function*>(function);
  std::fprintf(stderr, "millrace: %s of %s: %s; install the system's OpenSSL, Debian's libssl3\n",
               name, kLibrary, dlerror());
  _exit(kCanNotRun);
}

}  // namespace

// Not for libraries that the process loads, which bind to their own.
#define MR_LATE(type, name, parameters, arguments)                                    \
  extern "C" __attribute__((visibility("hidden"))) type name parameters {             \
    static decltype(&name) const kFunction = found(#name, decltype (&name)(nullptr)); \
    return kFunction arguments;                                                       \
  }

MR_LATE(const EVP_MD*, EVP_md5, (void), ())
MR_LATE(const EVP_MD*, EVP_sha256, (void), ())
MR_LATE(const EVP_CIPHER*, EVP_des_ede3_cbc, (void), ())
MR_LATE(int, EVP_Digest,
        (const void* data, size_t size, unsigned char* made, unsigned int* length,
         const EVP_MD* how, ENGINE* engine),
        (data, size, made, length, how, engine))
MR_LATE(unsigned char*, HMAC,
        (const EVP_MD* how, const void* key, int key_size, const unsigned char* data, size_t size,
         unsigned char* made, unsigned int* length),
        (how, key, key_size, data, size, made, length))
MR_LATE(EVP_CIPHER_CTX*, EVP_CIPHER_CTX_new, (void), ())
MR_LATE(void, EVP_CIPHER_CTX_free, (EVP_CIPHER_CTX * context), (context))
MR_LATE(int, EVP_CipherInit_ex,
        (EVP_CIPHER_CTX * context, const EVP_CIPHER* how, ENGINE* engine, const unsigned char* key,
         const unsigned char* first, int encrypts),
        (context, how, engine, key, first, encrypts))
MR_LATE(int, EVP_CIPHER_CTX_set_padding, (EVP_CIPHER_CTX * context, int padding),
        (context, padding))
MR_LATE(int, EVP_CipherUpdate,
        (EVP_CIPHER_CTX * context, unsigned char* out, int* out_size, const unsigned char* data,
         int size),
        (context, out, out_size, data, size))

#include "millrace/launch/shipping/digest.h"

// Not by EVP, for which all of OpenSSL is loaded and bound, which takes as long as half of joining:
// these are functions of their own, which a program has in itself.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/escaping.h"

namespace millrace {
namespace {

constexpr size_t kReadAtOnce = size_t{1} << 18;
constexpr size_t kDigits = 64;

SHA256_CTX* of(void* context) { return static_cast<SHA256_CTX*>(context); }

}  // namespace

void Digest::Free::operator()(void* context) const { delete of(context); }

Digest::Digest() : context_(new SHA256_CTX) { SHA256_Init(of(context_.get())); }

void Digest::add(std::string_view bytes) {
  SHA256_Update(of(context_.get()), bytes.data(), bytes.size());
}

std::string Digest::hex() {
  std::string bytes(SHA256_DIGEST_LENGTH, '\0');
  SHA256_Final(reinterpret_cast<unsigned char*>(bytes.data()), of(context_.get()));
  return absl::BytesToHexString(bytes);
}

bool is_digest(std::string_view text) {
  return text.size() == kDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<std::string> digest_of_file(int descriptor) {
  Digest digest;
  std::string bytes(kReadAtOnce, '\0');
  for (off_t at = 0;;) {
    const ssize_t size = pread(descriptor, bytes.data(), bytes.size(), at);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unavailable("can't read: ", std::strerror(errno));
    if (size == 0) return digest.hex();
    digest.add(std::string_view(bytes).substr(0, static_cast<size_t>(size)));
    at += size;
  }
}

}  // namespace millrace

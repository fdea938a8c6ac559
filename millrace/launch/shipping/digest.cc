#include "millrace/launch/shipping/digest.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace millrace {
namespace {

constexpr size_t kReadAtOnce = size_t{1} << 18;
constexpr size_t kDigits = 64;

EVP_MD_CTX* of(void* context) { return static_cast<EVP_MD_CTX*>(context); }

}  // namespace

void Digest::Free::operator()(void* context) const { EVP_MD_CTX_free(of(context)); }

Digest::Digest() : context_(EVP_MD_CTX_new()) {
  EVP_DigestInit_ex(of(context_.get()), EVP_sha256(), nullptr);
}

void Digest::add(std::string_view bytes) {
  EVP_DigestUpdate(of(context_.get()), bytes.data(), bytes.size());
}

std::string Digest::hex() {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  EVP_DigestFinal_ex(of(context_.get()), bytes.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += kHex[bytes[i] >> 4];
    text += kHex[bytes[i] & 15];
  }
  return text;
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

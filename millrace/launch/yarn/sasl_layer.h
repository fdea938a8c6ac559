// What protects each message after a login by DIGEST-MD5 (RFC 2831, sections 2.3 and 2.4), where
// the server wants more than to know who asks. Pure; single-threaded.
//
//   integrity:  | message | MAC 10 |                      0x0001 | number u32 |
//   privacy:    | 3DES-CBC( message | padding | MAC 10 ) | 0x0001 | number u32 |
//
// MAC: the first bytes of HMAC-MD5(key, number | message). Numbers begin with 0 and count messages,
// each way for itself, highest byte first. Padding: 1 to 8 bytes, each of which is their count. The
// cipher goes on from message to message. Each way has keys of its own, made of the login's secret.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

// "auth", "auth-int" and "auth-conf".
enum class SaslProtection : uint8_t { none, integrity, privacy };

// What both sides of a login have agreed upon.
struct SaslTerms {
  SaslProtection protection = SaslProtection::none;
  std::string secret = {};  // 16 bytes, H(A1)
  size_t most = 65536;      // bytes that the peer takes in one protected message
};

class SaslLayer {
 public:
  enum class Side : uint8_t { client, server };

  // `terms` ask for protection. Errors: FAILED_PRECONDITION if OpenSSL lacks MD5 or 3DES here;
  // INVALID_ARGUMENT for a peer that takes too little to be told anything.
  static Result<SaslLayer> create(const SaslTerms& terms, Side side);

  SaslLayer(SaslLayer&&) noexcept;
  SaslLayer& operator=(SaslLayer&&) noexcept;
  ~SaslLayer();

  // How many bytes one protected message may carry.
  size_t most_to_wrap() const { return most_to_wrap_; }
  Result<std::string> wrap(std::string_view message);
  // Errors, after which nothing more can be believed: DATA_LOSS for what is cut off, was changed on
  // its way, or comes twice or out of turn.
  Result<std::string> unwrap(std::string_view bytes);

 private:
  struct Ciphers;
  SaslLayer();

  std::string own_key_;  // of MACs
  std::string peers_key_;
  std::unique_ptr<Ciphers> ciphers_;  // not set: integrity alone
  size_t most_to_wrap_ = 0;
  uint32_t own_number_ = 0;
  uint32_t peers_number_ = 0;
};

}  // namespace millrace

// How a token is shown to a server of Hadoop: SASL's DIGEST-MD5 (RFC 2831), whose user name and
// password are the token's two parts in base64. The server proves with its last word that it knows
// the password, too. Pure.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

struct DigestLogin {
  std::string user = {};
  std::string password = {};
  std::string uri = {};    // "service/server", as the server calls itself
  std::string nonce = {};  // the client's, never used before
};

struct DigestResponse {
  std::string text = {};      // what is sent
  std::string expected = {};  // "rspauth=...", what the server has to answer
};

// Errors: INVALID_ARGUMENT for a challenge that is none; FAILED_PRECONDITION for a server that
// wants every message signed or encrypted, which this client does not do.
Result<DigestResponse> answer_digest(std::string_view challenge, const DigestLogin& login);

}  // namespace millrace

// How a token is shown to a server of Hadoop: SASL's DIGEST-MD5 (RFC 2831), whose user name and
// password are the token's two parts in base64. The server proves with its last word that it knows
// the password, too. What protects the messages after it, sasl_layer.h does. Pure.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/launch/yarn/sasl_layer.h"

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
  SaslTerms terms = {};       // of the messages that come after
};

// Of the protections that the server offers, its first one that both sides can is taken. Errors:
// INVALID_ARGUMENT for a challenge that is none; FAILED_PRECONDITION for a server that wants a
// protection nobody knows, or encryption without 3DES.
Result<DigestResponse> answer_digest(std::string_view challenge, const DigestLogin& login);

}  // namespace millrace

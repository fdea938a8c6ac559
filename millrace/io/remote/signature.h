// Signatures of requests to S3, by AWS's version 4, in headers. Pure.
//
//   text to sign = algorithm | time | day/region/service/aws4_request | SHA-256 of the request
//   the request  = method | path | query, sorted | headers, sorted | their names | body's SHA-256
//   key          = HMAC chain over "AWS4" + secret: day, region, service, "aws4_request"
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "millrace/io/remote/url.h"

namespace millrace::remote {

struct AwsKeys {
  std::string id, secret;
  std::string token = {};  // of a session; empty for lasting keys
};

struct SignedRequest {
  std::string_view method;
  std::string_view host;                            // with the port, unless it is the scheme's own
  std::string_view path;                            // as it is sent: encoded
  Query query = {};                                 // not encoded
  std::map<std::string, std::string> headers = {};  // by names in small letters
  std::string_view body = {};
};

// The headers to send, those of `request` among them: host's is the library's to send.
// `wall_micros`: the time, since 1970, UTC.
std::map<std::string, std::string> signed_headers(const SignedRequest& request, const AwsKeys& keys,
                                                  std::string_view region, int64_t wall_micros);

// Digits of the hash, in small letters.
std::string sha256_hex(std::string_view bytes);
// HMAC-SHA256, likewise: who makes it knows the key, and does not say it.
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

}  // namespace millrace::remote

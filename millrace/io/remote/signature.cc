#include "millrace/io/remote/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <vector>

#include "absl/strings/escaping.h"

#include "millrace/base/str_cat.h"

namespace millrace::remote {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256", kService = "s3", kEnd = "aws4_request";

std::string hex(std::string_view bytes) { return absl::BytesToHexString(to_absl(bytes)); }

std::string hmac(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> made{};
  unsigned int length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), made.data(), &length);
  return {reinterpret_cast<const char*>(made.data()), length};
}

// "20130524T000000Z"
std::string time_text(int64_t wall_micros) {
  const auto seconds = static_cast<std::time_t>(wall_micros / 1'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return {text.data(), length};
}

std::string canonical_query(const Query& query) {
  std::vector<std::string> parts;
  for (const auto& part : query) parts.push_back(encoded_query({part}));
  std::sort(parts.begin(), parts.end());
  std::string made;
  for (const std::string& part : parts) str_append(&made, made.empty() ? "" : "&", part);
  return made;
}

}  // namespace

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  return hex(hmac(key, text));
}

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> made{};
  unsigned int length = 0;
  EVP_Digest(bytes.data(), bytes.size(), made.data(), &length, EVP_sha256(), nullptr);
  return hex({reinterpret_cast<const char*>(made.data()), length});
}

std::map<std::string, std::string> signed_headers(const SignedRequest& request, const AwsKeys& keys,
                                                  std::string_view region, int64_t wall_micros) {
  const std::string time = time_text(wall_micros), day = time.substr(0, 8);
  const std::string body_hash = sha256_hex(request.body);
  std::map<std::string, std::string> headers = request.headers;
  headers["x-amz-date"] = time;
  headers["x-amz-content-sha256"] = body_hash;
  if (!keys.token.empty()) headers["x-amz-security-token"] = keys.token;
  std::map<std::string, std::string> shown = headers;
  shown["host"] = std::string(request.host);

  std::string lines, names;
  for (const auto& [name, value] : shown) {
    str_append(&lines, name, ":", value, "\n");
    str_append(&names, names.empty() ? "" : ";", name);
  }
  const std::string whole =
      str_cat(request.method, "\n", request.path, "\n", canonical_query(request.query), "\n", lines,
              "\n", names, "\n", body_hash);
  const std::string scope = str_cat(day, "/", region, "/", kService, "/", kEnd);
  const std::string text = str_cat(kAlgorithm, "\n", time, "\n", scope, "\n", sha256_hex(whole));
  const std::string key =
      hmac(hmac(hmac(hmac(str_cat("AWS4", keys.secret), day), region), kService), kEnd);
  headers["authorization"] = str_cat(kAlgorithm, " Credential=", keys.id, "/", scope,
                                     ",SignedHeaders=", names, ",Signature=", hex(hmac(key, text)));
  return headers;
}

}  // namespace millrace::remote

#include "millrace/launch/yarn/sasl_digest.h"

#include <openssl/evp.h>

#include <array>
#include <map>

#include "absl/strings/escaping.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr const char* kCount = "00000001";
constexpr const char* kQuality = "auth";

// 16 bytes; empty where the library forbids MD5.
std::string md5(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_md5(), nullptr) != 1)
    return "";
  return std::string(reinterpret_cast<const char*>(digest.data()), size);
}

std::string hex_md5(std::string_view text) { return absl::BytesToHexString(md5(text)); }

// name=value or name="value", with commas between them.
Result<std::map<std::string, std::string>> parse_directives(std::string_view text) {
  std::map<std::string, std::string> found;
  while (!text.empty()) {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) return invalid("the server's challenge makes no sense");
    const std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    const bool is_quoted = text.starts_with("\"");
    if (is_quoted) text.remove_prefix(1);
    const size_t end = text.find(is_quoted ? '"' : ',');
    if (is_quoted && end == std::string_view::npos)
      return invalid("the server's challenge has no end");
    found[name] = text.substr(0, end);
    text.remove_prefix(std::min(end, text.size()));
    if (is_quoted) text.remove_prefix(1);
    while (text.starts_with(",") || text.starts_with(" ")) text.remove_prefix(1);
  }
  return found;
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
    while (list.starts_with(" ")) list.remove_prefix(1);
  }
  return false;
}

}  // namespace

Result<DigestResponse> answer_digest(std::string_view challenge, const DigestLogin& login) {
  MR_ASSIGN(auto asked, parse_directives(challenge));
  const std::string& nonce = asked["nonce"];
  if (nonce.empty()) return invalid("the server's challenge has no nonce");
  if (!asked["qop"].empty() && !has_word(asked["qop"], kQuality))
    return failed_precondition("the server wants every message protected (", asked["qop"],
                               "); only hadoop.rpc.protection=authentication is spoken");
  const std::string& realm = asked["realm"];
  const std::string secret = str_cat(md5(str_cat(login.user, ":", realm, ":", login.password)), ":",
                                     nonce, ":", login.nonce);
  if (md5("").empty()) return failed_precondition("this machine's OpenSSL does not do MD5");
  auto proof = [&](std::string_view method) {
    return hex_md5(str_cat(hex_md5(secret), ":", nonce, ":", kCount, ":", login.nonce, ":",
                           kQuality, ":", hex_md5(str_cat(method, ":", login.uri))));
  };
  return DigestResponse{
      .text =
          str_cat("charset=utf-8,username=\"", login.user, "\",realm=\"", realm, "\",nonce=\"",
                  nonce, "\",nc=", kCount, ",cnonce=\"", login.nonce, "\",digest-uri=\"", login.uri,
                  "\",maxbuf=65536,response=", proof("AUTHENTICATE"), ",qop=", kQuality),
      .expected = str_cat("rspauth=", proof(""))};
}

}  // namespace millrace

#include "millrace/launch/yarn/sasl_digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr const char* kCount = "00000001";
constexpr const char* kCipher = "3des";
constexpr size_t kUsualMost = 65536;  // of a server that says nothing
// What ends the text that is proved, where messages are protected.
constexpr std::string_view kNoBody = ":00000000000000000000000000000000";

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

std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    while (list.starts_with(" ")) list.remove_prefix(1);
  }
  return words;
}

struct Quality {
  std::string_view name;
  SaslProtection protection;
};
constexpr Quality kQualities[] = {{"auth", SaslProtection::none},
                                  {"auth-int", SaslProtection::integrity},
                                  {"auth-conf", SaslProtection::privacy}};

// The server's first that can be done; one that says nothing wants to know who asks, and no more.
Result<Quality> chosen_quality(std::string_view offered, std::string_view ciphers) {
  if (offered.empty()) return kQualities[0];
  for (const std::string_view name : words_of(offered)) {
    const auto found = std::ranges::find(kQualities, name, &Quality::name);
    if (found == std::end(kQualities)) continue;
    if (found->protection != SaslProtection::privacy ||
        std::ranges::count(words_of(ciphers), kCipher) > 0)
      return *found;
  }
  return failed_precondition(
      "the server wants every message protected in a way that is not spoken (", offered,
      "; ciphers: ", ciphers.empty() ? "none" : ciphers,
      "); hadoop.rpc.protection may be authentication, integrity, or "
      "privacy with 3des");
}

}  // namespace

Result<DigestResponse> answer_digest(std::string_view challenge, const DigestLogin& login) {
  MR_ASSIGN(auto asked, parse_directives(challenge));
  const std::string& nonce = asked["nonce"];
  if (nonce.empty()) return invalid("the server's challenge has no nonce");
  MR_ASSIGN(const Quality quality, chosen_quality(asked["qop"], asked["cipher"]));
  const bool is_plain = quality.protection == SaslProtection::none;
  size_t most = kUsualMost;
  if (const std::string& said = asked["maxbuf"]; !said.empty() && !absl::SimpleAtoi(said, &most))
    return invalid("the server's challenge has a maxbuf that is no number: '", said, "'");
  const std::string& realm = asked["realm"];
  const std::string secret = str_cat(md5(str_cat(login.user, ":", realm, ":", login.password)), ":",
                                     nonce, ":", login.nonce);
  if (md5("").empty()) return failed_precondition("this machine's OpenSSL does not do MD5");
  auto proof = [&](std::string_view method) {
    return hex_md5(str_cat(hex_md5(secret), ":", nonce, ":", kCount, ":", login.nonce, ":",
                           quality.name, ":",
                           hex_md5(str_cat(method, ":", login.uri, is_plain ? "" : kNoBody))));
  };
  return DigestResponse{
      .text =
          str_cat("charset=utf-8,username=\"", login.user, "\",realm=\"", realm, "\",nonce=\"",
                  nonce, "\",nc=", kCount, ",cnonce=\"", login.nonce, "\",digest-uri=\"", login.uri,
                  "\",maxbuf=65536,response=", proof("AUTHENTICATE"), ",qop=", quality.name,
                  quality.protection == SaslProtection::privacy ? ",cipher=\"3des\"" : ""),
      .expected = str_cat("rspauth=", proof("")),
      .terms = {.protection = quality.protection, .secret = md5(secret), .most = most}};
}

}  // namespace millrace

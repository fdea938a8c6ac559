#include "millrace/launch/yarn/sasl_layer.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr size_t kMacSize = 10;
constexpr size_t kBlockSize = 8;
constexpr std::string_view kVersion("\x00\x01", 2);
constexpr size_t kNumberSize = 4;
constexpr size_t kTailSize = kVersion.size() + kNumberSize;
// What a message grows by at most, and SASL's own count of it for either kind.
constexpr size_t kGrowth = kMacSize + kTailSize;
constexpr size_t kKeySize = 16;
constexpr size_t kHalfOfDesKey = 7;

// The words of which keys are made, by who sends.
struct KeyWords {
  std::string_view signs;
  std::string_view seals;
};
constexpr KeyWords kOfClient = {"Digest session key to client-to-server signing key magic constant",
                                "Digest H(A1) to client-to-server sealing key magic constant"};
constexpr KeyWords kOfServer = {"Digest session key to server-to-client signing key magic constant",
                                "Digest H(A1) to server-to-client sealing key magic constant"};

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

Result<std::string> key_from(std::string_view text) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), bytes_of(digest), &size, EVP_md5(), nullptr) != 1)
    return failed_precondition("this machine's OpenSSL does not do MD5");
  digest.resize(size);
  return digest;
}

std::string number_text(uint32_t number) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift & 0xFF);
  return text;
}

Result<std::string> mac_of(const std::string& key, uint32_t number, std::string_view message) {
  const std::string text = str_cat(number_text(number), message);
  std::string mac(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  if (HMAC(EVP_md5(), key.data(), static_cast<int>(key.size()), bytes_of(text), text.size(),
           bytes_of(mac), &size) == nullptr)
    return failed_precondition("this machine's OpenSSL does not do HMAC-MD5");
  mac.resize(kMacSize);
  return mac;
}

// Seven bytes as the eight of a DES key, whose lowest bits count for nothing.
std::string des_key(std::string_view seven) {
  uint64_t bits = 0;
  for (const char byte : seven) bits = bits << 8 | static_cast<unsigned char>(byte);
  std::string key;
  for (int shift = 49; shift >= 0; shift -= 7)
    key += static_cast<char>((bits >> shift & 0x7F) << 1);
  return key;
}

using CipherState = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

// One way's, from the 16 bytes of its key: two keys for three turns, and what it begins with.
Result<CipherState> cipher_of(std::string_view key, int encrypts) {
  const std::string first = des_key(key.substr(0, kHalfOfDesKey));
  const std::string keys = str_cat(first, des_key(key.substr(kHalfOfDesKey, kHalfOfDesKey)), first);
  CipherState state(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  if (state == nullptr ||
      EVP_CipherInit_ex(state.get(), EVP_des_ede3_cbc(), nullptr, bytes_of(keys),
                        bytes_of(key.substr(kKeySize - kBlockSize)), encrypts) != 1)
    return failed_precondition("this machine's OpenSSL does not do 3DES");
  EVP_CIPHER_CTX_set_padding(state.get(), 0);
  return state;
}

// Whole blocks; goes on from those before.
Result<std::string> turned(EVP_CIPHER_CTX& state, std::string_view text) {
  std::string out(text.size() + kBlockSize, '\0');
  int size = 0;
  if (EVP_CipherUpdate(&state, bytes_of(out), &size, bytes_of(text),
                       static_cast<int>(text.size())) != 1 ||
      static_cast<size_t>(size) != text.size())
    return internal("OpenSSL's 3DES fails");
  out.resize(text.size());
  return out;
}

Status was_changed(uint32_t number) {
  return error(Code::data_loss, "message ", number,
               " of the server is not what it has sent: it was changed on its way, or the server "
               "knows another secret");
}

}  // namespace

struct SaslLayer::Ciphers {
  CipherState own;
  CipherState peers;
};

SaslLayer::SaslLayer() = default;
SaslLayer::SaslLayer(SaslLayer&&) noexcept = default;
SaslLayer& SaslLayer::operator=(SaslLayer&&) noexcept = default;
SaslLayer::~SaslLayer() = default;

Result<SaslLayer> SaslLayer::create(const SaslTerms& terms, Side side) {
  const KeyWords& own = side == Side::client ? kOfClient : kOfServer;
  const KeyWords& peers = side == Side::client ? kOfServer : kOfClient;
  const bool is_private = terms.protection == SaslProtection::privacy;
  const size_t growth = kGrowth + (is_private ? kMacSize : 0);  // as Java's provider counts it
  if (terms.most <= growth)
    return invalid("the server takes protected messages of ", terms.most,
                   " bytes (maxbuf), in which there is no room for one");
  SaslLayer layer;
  layer.most_to_wrap_ = terms.most - growth;
  MR_ASSIGN(layer.own_key_, key_from(str_cat(terms.secret, own.signs)));
  MR_ASSIGN(layer.peers_key_, key_from(str_cat(terms.secret, peers.signs)));
  if (!is_private) return layer;
  MR_ASSIGN(const std::string own_seal, key_from(str_cat(terms.secret, own.seals)));
  MR_ASSIGN(const std::string peers_seal, key_from(str_cat(terms.secret, peers.seals)));
  MR_ASSIGN(CipherState encrypts, cipher_of(own_seal, 1));
  MR_ASSIGN(CipherState decrypts, cipher_of(peers_seal, 0));
  layer.ciphers_ = std::make_unique<Ciphers>(Ciphers{std::move(encrypts), std::move(decrypts)});
  return layer;
}

Result<std::string> SaslLayer::wrap(std::string_view message) {
  MR_ASSIGN(const std::string mac, mac_of(own_key_, own_number_, message));
  std::string text(message);
  if (ciphers_ != nullptr) {
    const size_t padding = kBlockSize - (message.size() + kMacSize) % kBlockSize;
    text.append(padding, static_cast<char>(padding));
  }
  text += mac;
  if (ciphers_ != nullptr) {
    MR_ASSIGN(text, turned(*ciphers_->own, text));
  }
  return str_cat(text, kVersion, number_text(own_number_++));
}

Result<std::string> SaslLayer::unwrap(std::string_view bytes) {
  const size_t least = kMacSize + kTailSize + (ciphers_ != nullptr ? 1 : 0);
  if (bytes.size() < least)
    return error(Code::data_loss, "message ", peers_number_, " of the server is cut off: it has ",
                 bytes.size(), " bytes, and a protected one ", least, " at least");
  const std::string_view sealed = bytes.substr(0, bytes.size() - kTailSize);
  const std::string_view tail = bytes.substr(sealed.size());
  if (!tail.starts_with(kVersion))
    return error(Code::data_loss, "message ", peers_number_,
                 " of the server is of no version that is known");
  if (tail.substr(kVersion.size()) != number_text(peers_number_))
    return error(Code::data_loss, "message ", peers_number_,
                 " of the server has another's number: one came twice, or out of turn");
  std::string text(sealed);
  if (ciphers_ != nullptr) {
    if (sealed.size() % kBlockSize != 0)
      return error(Code::data_loss, "message ", peers_number_,
                   " of the server is cut off: it has no whole blocks");
    MR_ASSIGN(text, turned(*ciphers_->peers, sealed));
  }
  const std::string mac = text.substr(text.size() - kMacSize);
  text.resize(text.size() - kMacSize);
  if (ciphers_ != nullptr) {
    const size_t padding = static_cast<unsigned char>(text.empty() ? '\0' : text.back());
    if (padding < 1 || padding > kBlockSize || padding > text.size())
      return was_changed(peers_number_);
    text.resize(text.size() - padding);
  }
  MR_ASSIGN(const std::string expected, mac_of(peers_key_, peers_number_, text));
  if (CRYPTO_memcmp(mac.data(), expected.data(), kMacSize) != 0) return was_changed(peers_number_);
  ++peers_number_;
  return text;
}

}  // namespace millrace

// What a connection is going to speak, told by its first bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace::transport {

enum class Opening : uint8_t {
  unfinished,  // too few bytes to tell
  http2,       // "PRI * HTTP/2": gRPC
  tls,         // a record of a handshake, which begins with 0x16
  web,         // "GET " or "HEAD ": a browser, or whoever asks for a page
  direct,      // "MILLRACE/1\r\n": a program of ours
  unknown,
};

// As many bytes as opening_of() looks at.
inline constexpr size_t kOpeningSize = 12;

// `bytes` is what has come so far, at least one byte to be told apart.
Opening opening_of(std::string_view bytes);

}  // namespace millrace::transport

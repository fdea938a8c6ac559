#include "millrace/transport/sockets/opening.h"

#include <doctest/doctest.h>

namespace millrace::transport {
namespace {

TEST_CASE("each protocol is told by its first bytes, whatever follows") {
  CHECK(opening_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == Opening::http2);
  CHECK(opening_of({"\x16\x03\x01\x02\x00", 5}) == Opening::tls);
  CHECK(opening_of("GET / HTTP/1.1\r\n") == Opening::web);
  CHECK(opening_of("HEAD / HTTP/1.1\r\n") == Opening::web);
  CHECK(opening_of("SSH-2.0-OpenSSH_9.2\r\n") == Opening::unknown);
  CHECK(opening_of(std::string_view("\0\0\0", 3)) == Opening::unknown);
  CHECK(opening_of("PRIVATE") == Opening::unknown);
  CHECK(opening_of("GETTING") == Opening::unknown);
}

TEST_CASE("the beginning of a beginning tells nothing yet") {
  for (const std::string_view whole : {"PRI * HTTP/2", "GET ", "HEAD "}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(whole.substr(0, size));
      CHECK(opening_of(whole.substr(0, size)) == Opening::unfinished);
    }
    CHECK(opening_of(whole) != Opening::unfinished);
    CHECK(whole.size() <= kOpeningSize);
  }
}

}  // namespace
}  // namespace millrace::transport

#include "millrace/transport/sockets/opening.h"

#include <array>

namespace millrace::transport {
namespace {

struct Row {
  std::string_view first_bytes;
  Opening opening;
};

constexpr std::array<Row, 5> kOpenings = {{
    {"PRI * HTTP/2", Opening::http2},
    {"\x16", Opening::tls},
    {"GET ", Opening::web},
    {"HEAD ", Opening::web},
    {"MILLRACE/1\r\n", Opening::direct},
}};
static_assert(kOpenings[0].first_bytes.size() == kOpeningSize);
static_assert(kOpenings[4].first_bytes.size() == kOpeningSize);

}  // namespace

Opening opening_of(std::string_view bytes) {
  for (const Row& row : kOpenings) {
    if (bytes.starts_with(row.first_bytes)) return row.opening;
    if (row.first_bytes.starts_with(bytes)) return Opening::unfinished;
  }
  return Opening::unknown;
}

}  // namespace millrace::transport

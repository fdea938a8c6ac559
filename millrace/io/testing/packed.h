// Bytes as a packed file has them, for tests.
#pragma once

#include <zlib.h>

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "millrace/io/byte_source.h"

namespace millrace::testing {

inline std::string packed(std::string_view bytes, io::Packing packing) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, packing == io::Packing::gzip ? 31 : 15, 8,
                       Z_DEFAULT_STRATEGY) == Z_OK);
  std::string made(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(made.data());
  stream.avail_out = static_cast<uInt>(made.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  made.resize(stream.total_out);
  deflateEnd(&stream);
  return made;
}

}  // namespace millrace::testing

#include "millrace/io/remote/url.h"

#include <doctest/doctest.h>

namespace millrace::remote {
namespace {

TEST_CASE("a remote path is a scheme, a bucket or host, and the rest") {
  const Address address = parse_address("s3://bucket/a//b").value();
  CHECK(address.scheme == "s3");
  CHECK(address.authority == "bucket");
  CHECK(address.path == "a//b");
  CHECK(address.to_string() == "s3://bucket/a//b");
  CHECK(parse_address("s3://bucket")->path.empty());
  CHECK(parse_address("hdfs://host:9870/a")->authority == "host:9870");
}

TEST_CASE("what names no bucket, or one that can't be, is no remote path") {
  for (const char* path : {"/a", "s3:///a", "s3://user:secret@host/a", "s3://a b/c", "://b/c"})
    CHECK(parse_address(path).status().code() == Code::invalid_argument);
}

TEST_CASE("a key with any bytes in it is written so that it comes back") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(percent_decoded(percent_encoded(all, Slashes::encoded)) == all);
  CHECK(percent_encoded("a b/c~+%", Slashes::kept) == "a%20b/c~%2B%25");
  CHECK(percent_encoded("a/b", Slashes::encoded) == "a%2Fb");
  CHECK(percent_decoded("%4") == "%4");
  CHECK(percent_decoded("%zz") == "%zz");
}

TEST_CASE("what a server says is shown in one short line") {
  CHECK(shown_text("a\r\n\x1b[0m b\xff") == "a [0m b ");
  CHECK(shown_text(std::string(10'000, 'x')).size() == 303);
}

}  // namespace
}  // namespace millrace::remote

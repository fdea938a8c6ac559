#include "millrace/wire/error_details.h"

#include <doctest/doctest.h>

#include "millrace/wire/payload.pb.h"
#include "millrace/wire/testing/hex.h"

namespace millrace::wire {
namespace {

TEST_CASE("a consequence travels as TensorFlow's DerivedStatus, byte for byte") {
  const std::string wanted = testing::from_hex("0a 30 0a 2c") +
                             "type.googleapis.com/tensorflow.DerivedStatus" +
                             testing::from_hex("12 00");
  CHECK(encode_error_details(aborted("x").as_consequence()) == wanted);
  CHECK(with_error_details(aborted("x"), wanted).is_consequence());
}

TEST_CASE("causes without payloads and OK have no details") {
  CHECK(encode_error_details({}).empty());
  CHECK(encode_error_details(aborted("x")).empty());
  CHECK_FALSE(with_error_details(aborted("x"), "").is_consequence());
}

TEST_CASE("payloads arrive as they were sent") {
  const Status sent =
      unavailable("x").with_payload(kWorkerPossiblyRestartedUrl, "").with_payload("url", "bytes");
  const std::string bytes = encode_error_details(sent);
  const Status received = with_error_details(unavailable("x"), bytes);
  CHECK(received.payloads() == sent.payloads());
  CHECK_FALSE(received.is_consequence());

  tensorflow::distributed_runtime::GrpcPayloadContainer container;
  REQUIRE(container.ParseFromString(bytes));
  CHECK(container.payloads().at("url") == "bytes");
}

TEST_CASE("malformed details leave the error as it is") {
  CHECK(with_error_details(aborted("x"), "\xff\xff").message() == "x");
  CHECK(with_error_details(aborted("x"), testing::from_hex("0a 02 0a 7f")).payloads().empty());
  CHECK(with_error_details({}, testing::from_hex("0a 02 0a 00")).ok());
}

}  // namespace
}  // namespace millrace::wire

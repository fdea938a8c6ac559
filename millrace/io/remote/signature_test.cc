#include "millrace/io/remote/signature.h"

#include <doctest/doctest.h>

namespace millrace::remote {
namespace {

// The examples that AWS's documentation of signatures in headers gives, with its keys and its time.
const AwsKeys kExampleKeys{.id = "AKIAIOSFODNN7EXAMPLE",
                           .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
constexpr int64_t kExampleTime = 1'369'353'600'000'000;  // 2013-05-24 00:00:00
constexpr std::string_view kExampleHost = "examplebucket.s3.amazonaws.com";

std::string signature_of(const SignedRequest& request, const AwsKeys& keys = kExampleKeys) {
  const auto headers = signed_headers(request, keys, "us-east-1", kExampleTime);
  const std::string& said = headers.at("authorization");
  return said.substr(said.find("Signature=") + 10);
}

TEST_CASE("the published example of getting a part of an object is signed as published") {
  const SignedRequest request{.method = "GET",
                              .host = kExampleHost,
                              .path = "/test.txt",
                              .headers = {{"range", "bytes=0-9"}}};
  const auto headers = signed_headers(request, kExampleKeys, "us-east-1", kExampleTime);
  CHECK(headers.at("x-amz-date") == "20130524T000000Z");
  CHECK(headers.at("x-amz-content-sha256") ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(headers.at("authorization") ==
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_CASE("the published example of putting an object is signed as published") {
  CHECK(signature_of({.method = "PUT",
                      .host = kExampleHost,
                      .path = "/test%24file.text",
                      .headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                                  {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                      .body = "Welcome to Amazon S3."}) ==
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST_CASE("the published examples of questions with and without values are signed as published") {
  CHECK(signature_of(
            {.method = "GET", .host = kExampleHost, .path = "/", .query = {{"lifecycle", ""}}}) ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  CHECK(signature_of({.method = "GET",
                      .host = kExampleHost,
                      .path = "/",
                      .query = {{"prefix", "J"}, {"max-keys", "2"}}}) ==
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_CASE("a session's token is sent and signed") {
  AwsKeys keys = kExampleKeys;
  keys.token = "of-the-session";
  const SignedRequest request{.method = "GET", .host = kExampleHost, .path = "/"};
  const auto headers = signed_headers(request, keys, "us-east-1", kExampleTime);
  CHECK(headers.at("x-amz-security-token") == "of-the-session");
  CHECK(headers.at("authorization").find("x-amz-date;x-amz-security-token,") != std::string::npos);
  CHECK(signature_of(request, keys) != signature_of(request));
}

}  // namespace
}  // namespace millrace::remote

#include "millrace/io/remote/aws_settings.h"

#include <map>

#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"

namespace millrace::remote {
namespace {

using Variables = std::map<std::string, std::string>;

Result<AwsSettings> read_with(Variables values, millrace::testing::MemoryFiles& files) {
  values.try_emplace("HOME", "/home/ada");
  return read_aws_settings(
      [&values](const char* name) -> std::optional<std::string> {
        const auto found = values.find(name);
        return found == values.end() ? std::nullopt : std::optional(found->second);
      },
      files);
}

TEST_CASE("keys, region and endpoint come from the environment") {
  millrace::testing::MemoryFiles files;
  const auto settings = read_with({{"AWS_ACCESS_KEY_ID", "id"},
                                   {"AWS_SECRET_ACCESS_KEY", "secret"},
                                   {"AWS_SESSION_TOKEN", "token"},
                                   {"AWS_REGION", "eu-central-1"},
                                   {"AWS_ENDPOINT_URL", "http://127.0.0.1:9000/"}},
                                  files)
                            .value();
  CHECK(settings.keys->id == "id");
  CHECK(settings.keys->secret == "secret");
  CHECK(settings.keys->token == "token");
  CHECK(settings.region == "eu-central-1");
  CHECK(settings.endpoint == "http://127.0.0.1:9000");
}

TEST_CASE("without anything, AWS is asked unsigned") {
  millrace::testing::MemoryFiles files;
  const auto settings = read_with({}, files).value();
  CHECK_FALSE(settings.keys.has_value());
  CHECK(settings.region == "us-east-1");
  CHECK(settings.endpoint.empty());
}

TEST_CASE("a profile's sections of two files go together, the credentials' first") {
  millrace::testing::MemoryFiles files;
  files.contents()["/home/ada/.aws/credentials"] =
      "[default]\naws_access_key_id = of-default\naws_secret_access_key=s\n"
      "[work]\naws_access_key_id=of-work\naws_secret_access_key = a=b+c\n";
  files.contents()["/home/ada/.aws/config"] =
      "# all\n[default]\nregion = us-west-2\n[profile work]\nregion=eu-west-1\n"
      "endpoint_url = https://store.example\ns3 =\n  region = not-this\naws_access_key_id=lower\n";
  const auto usual = read_with({}, files).value();
  CHECK(usual.keys->id == "of-default");
  CHECK(usual.region == "us-west-2");
  const auto work = read_with({{"AWS_PROFILE", "work"}}, files).value();
  CHECK(work.keys->id == "of-work");
  CHECK(work.keys->secret == "a=b+c");
  CHECK(work.region == "eu-west-1");
  CHECK(work.endpoint == "https://store.example");
  const auto other = read_with({{"AWS_PROFILE", "none"}}, files).status();
  CHECK(other.code() == Code::failed_precondition);
  CHECK(other.message().find("'none'") != std::string::npos);
}

TEST_CASE("an endpoint without a scheme is taken as TensorFlow takes it") {
  millrace::testing::MemoryFiles files;
  CHECK(read_with({{"S3_ENDPOINT", "store:9000"}}, files)->endpoint == "https://store:9000");
  CHECK(read_with({{"S3_ENDPOINT", "store:9000"}, {"S3_USE_HTTPS", "0"}}, files)->endpoint ==
        "http://store:9000");
  for (const char* bad : {"ftp://a", "http://a/path", "http://", "http://a b"})
    CHECK(read_with({{"AWS_ENDPOINT_URL", bad}}, files).status().code() == Code::invalid_argument);
}

TEST_CASE("half of the keys, or keys that come in an unknown way, are told, without a secret") {
  millrace::testing::MemoryFiles files;
  const auto half = read_with({{"AWS_SECRET_ACCESS_KEY", "hidden"}}, files).status();
  CHECK(half.code() == Code::failed_precondition);
  CHECK(half.message().find("hidden") == std::string::npos);
  files.contents()["/home/ada/.aws/config"] = "[default]\nrole_arn = arn:aws:iam::1:role/r\n";
  CHECK(read_with({}, files).status().message().find("by role_arn") != std::string::npos);
}

}  // namespace
}  // namespace millrace::remote

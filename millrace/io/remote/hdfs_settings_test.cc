#include "millrace/io/remote/hdfs_settings.h"

#include <map>

#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"

namespace millrace::remote {
namespace {

Environment hdfs_variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string origin(const std::string& path, int http_port = 0) {
  return hdfs_origin(parse_address(path).value(), http_port);
}

TEST_CASE("WebHDFS is asked at the port of its own, unless a path says another") {
  CHECK(origin("hdfs://name/a") == "http://name:9870");
  CHECK(origin("webhdfs://name:50070/a") == "http://name:50070");
  CHECK(origin("hdfs://name:50070/a") == "http://name:50070");
  CHECK(origin("swebhdfs://name/a") == "https://name:9871");
  CHECK(origin("webhdfs://[::1]/a") == "http://[::1]:9870");
  CHECK(origin("webhdfs://[::1]:80/a") == "http://[::1]:80");
}

TEST_CASE("the port of Hadoop's own protocol is none that speaks HTTP") {
  CHECK(origin("hdfs://name:8020/a") == "http://name:9870");
  CHECK(origin("hdfs://name:9000/a") == "http://name:9870");
  CHECK(origin("hdfs://name:8020/a", 1234) == "http://name:1234");
  CHECK(origin("webhdfs://name:8020/a", 1234) == "http://name:8020");
}

TEST_CASE("the user is the one that Hadoop's own variable names, or who runs the program") {
  millrace::testing::MemoryFiles files;
  CHECK(read_hdfs_settings(hdfs_variables({{"HADOOP_USER_NAME", "ada"}, {"USER", "bob"}}), files)
            ->user == "ada");
  CHECK(read_hdfs_settings(hdfs_variables({{"USER", "bob"}}), files)->user == "bob");
  CHECK(read_hdfs_settings(hdfs_variables({}), files)->user.empty());
  CHECK(read_hdfs_settings(hdfs_variables({{"MILLRACE_HDFS_HTTP_PORT", "99999"}}), files)
            .status()
            .code() == Code::invalid_argument);
}

TEST_CASE("a token is written as requests have it: its parts with their lengths, in base64") {
  CHECK(hdfs_token_text({.identifier = "id", .password = "pw", .kind = "K", .service = ""}) ==
        "AmlkAnB3AUsA");
  // A length beyond 127 says first how many bytes it has.
  CHECK(hdfs_token_text({.identifier = std::string(200, '\0')}).starts_with("j8gAAA"));
}

TEST_CASE("of the tokens that a container is given, the one for HDFS is taken") {
  using namespace std::string_literals;
  millrace::testing::MemoryFiles files;
  files.contents()["/tokens"] = "HDTS\0\x02"s + "\x01"s + "a\x01i\x01p\x0f" + "AM_RM_TOKEN_XXX"s +
                                "\0"s + "\x01"s + "b\x02id\x02pw\x15HDFS_DELEGATION_TOKEN\x03" +
                                "svc" + "\0"s;
  const auto settings =
      read_hdfs_settings(hdfs_variables({{"HADOOP_TOKEN_FILE_LOCATION", "/tokens"}}), files);
  REQUIRE(settings.ok());
  CHECK(settings->token == hdfs_token_text({.identifier = "id",
                                            .password = "pw",
                                            .kind = "HDFS_DELEGATION_TOKEN",
                                            .service = "svc"}));
  files.contents()["/tokens"] = "nonsense";
  CHECK(read_hdfs_settings(hdfs_variables({{"HADOOP_TOKEN_FILE_LOCATION", "/tokens"}}), files)
            .status()
            .code() == Code::failed_precondition);
}

}  // namespace
}  // namespace millrace::remote

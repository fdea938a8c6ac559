#include "millrace/io/remote/hdfs_answers.h"

#include <doctest/doctest.h>

namespace millrace::remote {
namespace {

TEST_CASE("a status tells length, kind and time") {
  const FileFacts facts =
      read_hdfs_facts(
          R"({"FileStatus":{"accessTime":0,"length":24930,"modificationTime":1320171722771,"type":"FILE"}})")
          .value();
  CHECK(facts.size == 24930);
  CHECK_FALSE(facts.is_directory);
  CHECK(facts.changed_micros == 1'320'171'722'771'000);
  CHECK(read_hdfs_facts(R"({"FileStatus":{"length":0,"type":"DIRECTORY"}})")->is_directory);
}

TEST_CASE("a list comes at once, or in batches that say whether more follow") {
  const std::string entries =
      R"("FileStatuses":{"FileStatus":[{"pathSuffix":"a"},{"pathSuffix":"b"}]})";
  const HdfsPage whole = read_hdfs_page("{" + entries + "}").value();
  CHECK(whole.names == std::vector<std::string>{"a", "b"});
  CHECK_FALSE(whole.has_more);
  const HdfsPage batch = read_hdfs_page(R"({"DirectoryListing":{"partialListing":{)" + entries +
                                        R"(},"remainingEntries":2}})")
                             .value();
  CHECK(batch.names == whole.names);
  CHECK(batch.has_more);
}

TEST_CASE("answers of a hostile server are data loss and nothing worse") {
  for (const char* text :
       {"", "null", "[]", "{", "{\"FileStatus\":3}",
        "{\"FileStatus\":{\"length\":-1,\"type\":\"FILE\"}}",
        "{\"FileStatus\":{\"length\":1e99,\"type\":\"FILE\"}}",
        "{\"FileStatus\":{\"length\":1,\"type\":\"PIPE\"}}", "\xff\xfe",
        "{\"FileStatuses\":{\"FileStatus\":{}}}", "{\"FileStatuses\":{\"FileStatus\":[1]}}",
        "{\"FileStatuses\":{\"FileStatus\":[{\"pathSuffix\":\"../../etc\"}]}}"}) {
    CAPTURE(text);
    CHECK(read_hdfs_facts(text).status().code() == Code::data_loss);
    CHECK(read_hdfs_page(text).status().code() == Code::data_loss);
    CHECK_FALSE(read_hdfs_boolean(text).has_value());
    CHECK(read_hdfs_exception(text).name.empty());
  }
  CHECK(read_hdfs_page(std::string(200'000, '[')).status().code() == Code::data_loss);
}

TEST_CASE("an exception has a name and a message") {
  const HdfsException told = read_hdfs_exception(
      R"({"RemoteException":{"exception":"FileNotFoundException","javaClassName":"x","message":"gone\n\tat x"}})");
  CHECK(told.name == "FileNotFoundException");
  CHECK(told.message == "gone");
  CHECK(read_hdfs_boolean(R"({"boolean": false})") == false);
}

}  // namespace
}  // namespace millrace::remote

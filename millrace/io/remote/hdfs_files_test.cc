#include "millrace/io/remote/hdfs_files.h"

#include <doctest/doctest.h>

#include "millrace/io/remote/testing/scripted_http.h"

namespace millrace::remote {
namespace {

struct HdfsLab {
  testing::ScriptedHttp http;
  SeededRandom random{1};
  Retries retries{Clock::real(),
                  random,
                  {.tries = 2,
                   .first_pause = std::chrono::milliseconds(0),
                   .longest_pause = std::chrono::milliseconds(0)}};
  HdfsStore store;
  HdfsFiles files{store};

  explicit HdfsLab(HdfsSettings settings = {.user = "ada", .token = {}})
      : store(std::move(settings), http, retries) {}

  // The NameNode's word on where a file's bytes go, and then the DataNode's answer.
  void answer_by_data_node(int status, std::string body = "") {
    http.answer(307, "", {{"location", "http://data:9864/there"}});
    http.answer(status, std::move(body));
  }
  void answer_length(int length) {
    http.answer(200,
                R"({"FileStatus":{"length":)" + std::to_string(length) + R"(,"type":"FILE"}})");
  }
  std::string line(size_t number) const { return http.seen().at(number).line; }
};

std::string exception(std::string_view name) {
  return R"({"RemoteException":{"exception":")" + std::string(name) + R"(","message":"why"}})";
}

TEST_CASE("a file is read where the NameNode says, by a part of it") {
  HdfsLab lab;
  lab.answer_length(3);
  lab.answer_by_data_node(200, "abc");
  const auto file = lab.files.open("hdfs://name:8020/d/a b").value();
  std::string into(3, '\0');
  CHECK(file->read(0, into).value() == 3);
  CHECK(lab.line(0) == "GET http://name:9870/webhdfs/v1/d/a%20b?op=GETFILESTATUS&user.name=ada");
  CHECK(lab.line(1) ==
        "GET http://name:9870/webhdfs/v1/d/a%20b?op=OPEN&user.name=ada&offset=0&length=3");
  CHECK(lab.line(2) == "GET http://data:9864/there");
}

TEST_CASE("a token goes before a name, and is in no message") {
  HdfsLab lab({.user = "ada", .token = "secret"});
  lab.http.answer(403, exception("AccessControlException"));
  CHECK(lab.files.facts("hdfs://name/a").status().to_string() ==
        "PERMISSION_DENIED: hdfs://name/a; GET GETFILESTATUS http://name:9870/webhdfs/v1/a: 403 "
        "AccessControlException: why");
  CHECK(lab.line(0) == "GET http://name:9870/webhdfs/v1/a?op=GETFILESTATUS&delegation=secret");
}

TEST_CASE("exceptions are the codes that they mean") {
  const std::pair<const char*, Code> known[] = {
      {"FileNotFoundException", Code::not_found},
      {"FileAlreadyExistsException", Code::already_exists},
      {"PathIsNotEmptyDirectoryException", Code::failed_precondition},
      {"DSQuotaExceededException", Code::resource_exhausted}};
  for (const auto& [name, code] : known) {
    HdfsLab lab;
    lab.http.answer(403, exception(name));
    CHECK(lab.files.facts("hdfs://name/a").status().code() == code);
  }
}

TEST_CASE("a NameNode that stands by, or is starting, is asked again") {
  HdfsLab lab;
  lab.http.answer(403, exception("StandbyException"));
  lab.answer_length(3);
  CHECK(lab.files.facts("hdfs://name/a")->size == 3);
  lab.http.answer(403, exception("SafeModeException"));
  lab.http.answer(403, exception("SafeModeException"));
  CHECK(lab.files.facts("hdfs://name/a").status().code() == Code::unavailable);
}

TEST_CASE("a file is made by its first bytes and continued by the next") {
  HdfsLab lab;
  lab.answer_by_data_node(201);
  lab.answer_by_data_node(200);
  const auto file = lab.files.create("hdfs://name/a").value();
  REQUIRE(file->append("ab").ok());
  REQUIRE(file->sync().ok());
  REQUIRE(file->append("c").ok());
  REQUIRE(file->close().ok());
  CHECK(lab.line(0) == "PUT http://name:9870/webhdfs/v1/a?op=CREATE&user.name=ada&overwrite=true");
  CHECK(lab.http.seen()[0].body.empty());
  CHECK(lab.http.seen()[1].body == "ab");
  CHECK(lab.line(2) == "POST http://name:9870/webhdfs/v1/a?op=APPEND&user.name=ada");
  CHECK(lab.http.seen()[3].body == "c");
}

TEST_CASE("a file is continued once, whatever became of the answer") {
  // (its length afterwards, its length after it was continued again, or 0 if it was not, what
  // becomes of it)
  struct Case {
    int length, again;
    Code code;
  };
  for (const Case& each : {Case{4, 0, Code::ok}, Case{3, 4, Code::ok}, Case{3, 5, Code::data_loss},
                           Case{9, 0, Code::unavailable}}) {
    HdfsLab lab;
    lab.answer_length(3);
    const auto file = lab.files.append_to("hdfs://name/a").value();
    REQUIRE(file->append("d").ok());
    lab.http.answer(307, "", {{"location", "http://data:9864/there"}});
    lab.http.fail(unavailable("reset"), true);
    lab.answer_length(each.length);
    if (each.again > 0) {
      lab.answer_by_data_node(200);
      lab.answer_length(each.again);
    }
    CHECK(file->flush().code() == each.code);
    CHECK(lab.http.is_over());
  }
}

TEST_CASE("a server that takes no bytes has written none") {
  HdfsLab lab;
  lab.http.answer(200);
  const auto file = lab.files.create("hdfs://name/a").value();
  REQUIRE(file->append("ab").ok());
  CHECK(file->close().code() == Code::data_loss);
  CHECK(lab.http.is_over());
}

TEST_CASE("servers that send each other's clients round are left") {
  HdfsLab lab;
  lab.answer_length(3);
  for (int i = 0; i < 10; ++i) lab.http.answer(307, "", {{"location", "http://name:9870/round"}});
  const auto file = lab.files.open("hdfs://name/a").value();
  std::string into(3, '\0');
  CHECK(file->read(0, into).status().code() == Code::data_loss);
  CHECK(lab.http.seen().size() == 5);
}

TEST_CASE("a directory is listed batch by batch, and by older servers at once") {
  HdfsLab lab;
  lab.http.answer(200, R"({"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[
      {"pathSuffix":"a"}]}},"remainingEntries":1}})");
  lab.http.answer(200, R"({"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[
      {"pathSuffix":"b"}]}},"remainingEntries":0}})");
  CHECK(lab.files.list("hdfs://name/d").value() == std::vector<std::string>{"a", "b"});
  CHECK(lab.line(1).ends_with("&startAfter=a"));
  lab.http.answer(400, exception("IllegalArgumentException"));
  lab.http.answer(200, R"({"FileStatuses":{"FileStatus":[{"pathSuffix":"c"}]}})");
  CHECK(lab.files.list("hdfs://name/d").value() == std::vector<std::string>{"c"});
}

TEST_CASE("a list that begins again and again is data loss") {
  HdfsLab lab;
  for (int i = 0; i < 3; ++i)
    lab.http.answer(200, R"({"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[
        {"pathSuffix":"a"}]}},"remainingEntries":1}})");
  CHECK(lab.files.list("hdfs://name/d").status().code() == Code::data_loss);
}

TEST_CASE("a rename takes the place of what was there, also if the answer is lost") {
  HdfsLab lab;
  lab.http.answer(200);
  CHECK(lab.files.rename("hdfs://name/a", "hdfs://name/b").ok());
  CHECK(lab.line(0) ==
        "PUT http://name:9870/webhdfs/v1/a?op=RENAME&user.name=ada&destination=%2Fb&"
        "renameoptions=OVERWRITE");
  lab.http.fail(unavailable("reset"), true);
  lab.http.answer(404, exception("FileNotFoundException"));
  lab.answer_length(3);
  CHECK(lab.files.rename("hdfs://name/a", "hdfs://name/b").ok());
  CHECK(lab.files.rename("hdfs://name/a", "hdfs://other/b").code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace::remote

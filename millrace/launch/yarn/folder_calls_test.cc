#include "millrace/launch/yarn/folder_calls.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr std::string_view kWrite =
    "PUT /container_2.out?at=5 HTTP/1.1\r\nHost: n1:4000\r\nauthorization: Bearer 77\r\n"
    "content-length: 4\r\n\r\na\r\nb";

TEST_CASE("a call is whole when its body is, however its bytes come") {
  FolderCalls calls("77");
  for (const char c : kWrite.substr(0, kWrite.size() - 1)) {
    calls.feed(std::string_view(&c, 1));
    CHECK_FALSE(calls.next().value());
  }
  calls.feed(str_cat("b", "POST /read HTTP/1.1\r\nAuthorization: Bearer 77\r\n\r\n"));
  const FolderCall written = calls.next().value().value();
  CHECK(written.method == "PUT");
  CHECK(written.path == "/container_2.out?at=5");
  CHECK(written.token == "77");
  CHECK(written.body == "a\r\nb");
  const FolderCall read = calls.next().value().value();
  CHECK(read.path == "/read");
  CHECK(read.body.empty());
  CHECK_FALSE(calls.next().value());
  CHECK_FALSE(calls.is_over());
}

TEST_CASE("of a stranger's call nothing is kept but that it came") {
  FolderCalls calls("78");
  calls.feed(kWrite.substr(0, kWrite.size() - 4));
  const FolderCall call = calls.next().value().value();
  CHECK(call.token == "77");
  CHECK(call.body.empty());
  CHECK(calls.is_over());
  calls.feed("a\r\nb");
  CHECK_FALSE(calls.next().value());
}

TEST_CASE("who knows no header shows the door, which opens nothing else") {
  FolderCalls calls("77", "d00r");
  calls.feed(
      "GET /d00r/files/0.tar.gz HTTP/1.1\r\nRange: bytes=5-9\r\n\r\n"
      "HEAD /d00r/programs.tar HTTP/1.1\r\nHost: n1\r\n\r\n");
  const FolderCall first = calls.next().value().value();
  CHECK(first.is_by_door);
  CHECK(first.path == "/files/0.tar.gz");
  const FolderCall second = calls.next().value().value();
  CHECK(second.method == "HEAD");
  CHECK(second.path == "/programs.tar");
  for (const std::string path : {"/d00/a", "/d00r2/a", "/", "/a", "d00r/a", "//d00r/a", "/77/a"}) {
    FolderCalls others("77", "d00r"), closed("77");
    for (FolderCalls* each : {&others, &closed}) {
      each->feed(str_cat("GET ", path, " HTTP/1.1\r\nAuthorization: Bearer 77\r\n\r\n"));
      CHECK_FALSE(each->next().value().value().is_by_door);
      CHECK(each->is_over());
    }
  }
  FolderCalls writes("77", "d00r");
  writes.feed("PUT /d00r/container_0.out?at=0 HTTP/1.1\r\nAuthorization: Bearer d00r\r\n\r\n");
  CHECK_FALSE(writes.next().value().value().is_by_door);
  CHECK(writes.is_over());
}

TEST_CASE("what is no call, or too long a one, is refused") {
  for (const std::string& bytes :
       {std::string("nonsense\r\n\r\n"), std::string("GET /\r\n\r\n"),
        std::string("PUT / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"),
        std::string("PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
        std::string("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        std::string(20'000, 'a')}) {
    FolderCalls calls("77");
    calls.feed(bytes);
    CHECK(calls.next().status().code() == Code::invalid_argument);
  }
}

TEST_CASE("what is wanted and what is answered are heard as they were said") {
  const std::vector<FilePart> wanted =
      parse_wanted(wanted_text({{"journal", 7}, {"logs/map 0.log", 0}})).value();
  REQUIRE(wanted.size() == 2);
  CHECK(wanted[0].offset == 7);
  CHECK(wanted[1].name == "logs/map 0.log");
  const FileParts parts =
      parse_parts(parts_text({{{"journal", 7, "a\nb"}, {"logs/map_0.log", 0, ""}}, true})).value();
  REQUIRE(parts.parts.size() == 2);
  CHECK(parts.parts[0].bytes == "a\nb");
  CHECK(parts.parts[0].offset == 7);
  CHECK(parts.has_more);
  CHECK_FALSE(parse_parts("all\n").value().has_more);
  for (const char* text : {"", "journal 0 5\nabc", "journal x 1\naall\n", "all\nmore\n", "<html>"})
    CHECK(parse_parts(text).status().code() == Code::data_loss);
  CHECK(parse_wanted("x journal\n").status().code() == Code::invalid_argument);
}

TEST_CASE("only what tasks write is written, and no path leads out of the folder") {
  CHECK(parse_written("/container_2.out?at=5").value().offset == 5);
  CHECK(parse_written("/container_2.out").status().code() == Code::invalid_argument);
  CHECK(may_write("container_2.2.err"));
  for (const char* name : {"journal", "container_2.sh", "../container_2.out", "container_/.out"})
    CHECK_FALSE(may_write(name));
  for (const char* name : {"journal", "launcher.log", "logs/map_0.2.log", "container_0.sh"})
    CHECK(may_read(name));
  for (const char* name : {"staged", "job.yaml", "logs/../staged", "logs/", "/etc/passwd", ""})
    CHECK_FALSE(may_read(name));
}

TEST_CASE("through the door nothing is had but what goes along") {
  for (const char* path : {"/programs.tar", "/job.yaml", "/files/0", "/files/11.tar.gz"})
    CHECK(may_fetch(path));
  for (const char* path : {"", "/", "/files/", "/..", "/../journal", "/files/../../job.yaml",
                           "/files/a/b", "/.hidden", "programs.tar", "/other/a", "//etc/passwd"})
    CHECK_FALSE(may_fetch(path));
  for (const char* name : {"left", "packs.list", "packs/map_1", "logs/map_1.log"})
    CHECK(may_read(name));
  for (const char* name : {"secrets", "staged", "packs/../staged", "packs/", "sent/programs.tar"})
    CHECK_FALSE(may_read(name));
}

TEST_CASE("an answer has the length of its body") {
  CHECK(folder_answer(200, "abc") == "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
}

}  // namespace
}  // namespace millrace

#include "millrace/launch/yarn/folder_server.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/base/testing/scratch_directory.h"

namespace millrace {
namespace {

class Served {
 public:
  Served() : server_(FolderServer::listen(folder(), "77").value()) {
    std::filesystem::create_directory(folder() + "/logs");
  }
  std::string folder() const { return directory_.path(""); }
  void write(const std::string& name, std::string_view text) {
    std::ofstream(folder() + "/" + name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) {
    std::ifstream file(folder() + "/" + name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string ask(FolderCall call) {
    if (call.token.empty()) call.token = "77";
    return server_.answer(call);
  }
  int port() const { return server_.port(); }

 private:
  testing::ScratchDirectory directory_;
  FolderServer server_;
};

TEST_CASE("what is new of the files that are wanted is answered, in their order") {
  Served served;
  served.write("journal", "begun\nended\n");
  served.write("logs/map_0.log", "one");
  CHECK(served.ask({"POST", "/read", "", "6 journal\n0 logs/map_0.log\n0 logs/map_1.log\n"}) ==
        folder_answer(200, "journal 6 6\nended\nlogs/map_0.log 0 3\noneall\n"));
  CHECK(served.ask({"POST", "/read", "", "12 journal\n"}) == folder_answer(200, "all\n"));
  CHECK(served.ask({"POST", "/read", "", "nonsense\n"}) == folder_answer(400, ""));
  CHECK(served.port() > 0);
}

TEST_CASE("a large file comes in pieces") {
  Served served;
  served.write("journal", std::string(3'000'000, 'j'));
  const std::string answer = served.ask({"POST", "/read", "", "0 journal\n"});
  CHECK(answer.ends_with("jmore\n"));
  CHECK(answer.size() < 1'100'000);
}

TEST_CASE("what a task has written is written once, however often it is brought") {
  Served served;
  for (int i = 0; i < 2; ++i) {
    CHECK(served.ask({"PUT", "/container_0.out?at=0", "", "ab"}) == folder_answer(200, ""));
    CHECK(served.ask({"PUT", "/container_0.out?at=2", "", "cd"}) == folder_answer(200, ""));
  }
  CHECK(served.read("container_0.out") == "abcd");
  CHECK(served.ask({"PUT", "/container_0.out?at=9", "", "x"}) == folder_answer(409, ""));
  // Of one that was read to its end and removed, nothing comes back.
  CHECK(served.ask({"PUT", "/container_1.out?at=9", "", "x"}) == folder_answer(409, ""));
  CHECK_FALSE(std::filesystem::exists(served.folder() + "/container_1.out"));
}

TEST_CASE("nobody without the token reads or writes, and nobody writes what is not his") {
  Served served;
  served.write("journal", "begun\n");
  CHECK(served.ask({"POST", "/read", "78", "0 journal\n"}).starts_with("HTTP/1.1 401 "));
  CHECK(served.ask({"PUT", "/journal?at=0", "", "x"}) == folder_answer(404, ""));
  CHECK(served.ask({"GET", "/journal", "", ""}) == folder_answer(404, ""));
  CHECK(served.read("journal") == "begun\n");
}

TEST_CASE("a wish is for a launcher that heeds some") {
  Served served;
  CHECK(served.ask({"POST", "/wishes", "", "{}\n"}) == folder_answer(404, ""));
  served.write("wishes", "");
  CHECK(served.ask({"POST", "/wishes", "", "{}\n"}) == folder_answer(200, ""));
  CHECK(served.read("wishes") == "{}\n");
}

}  // namespace
}  // namespace millrace

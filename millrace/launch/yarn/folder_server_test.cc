#include "millrace/launch/yarn/folder_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
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
  explicit Served(size_t most_callers = 4096)
      : server_(FolderServer::listen({.folder = folder(),
                                      .token = "77",
                                      .door = "d00r",
                                      .sent = folder() + "/sent",
                                      .most_callers = most_callers})
                    .value()) {
    std::filesystem::create_directory(folder() + "/logs");
    std::filesystem::create_directories(folder() + "/sent/files");
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
  // Until nothing happens any more.
  void run() {
    for (int i = 0; i < 20; ++i) server_.turn(1);
  }

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

class Caller {
 public:
  explicit Caller(const Served& served) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(served.port()));
    REQUIRE(connect(socket_.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  void say(std::string_view bytes) const {
    REQUIRE(send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  // What has come; "closed" if that is the end, "" if nothing has.
  std::string hears() const {
    std::string bytes(1000, ' ');
    const ssize_t size = recv(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return size == 0 ? "closed" : bytes.substr(0, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }
  // In the middle of what was sent, as by a fault of the network.
  bool is_cut_off() const {
    std::string bytes(1'000'000, ' ');
    for (;;) {
      const ssize_t size = recv(socket_.number(), bytes.data(), bytes.size(), 0);
      if (size <= 0) return size < 0 && errno == ECONNRESET;
    }
  }

 private:
  Descriptor socket_;
};

constexpr std::string_view kRead =
    "POST /read HTTP/1.1\r\nAuthorization: Bearer 77\r\nContent-Length: 0\r\n\r\n";

TEST_CASE("a stranger is told so, and may not go on to send what he has announced") {
  Served served;
  const Caller stranger(served);
  stranger.say("PUT /journal?at=0 HTTP/1.1\r\nContent-Length: 8000000\r\n\r\nx");
  served.run();
  CHECK(stranger.hears().starts_with("HTTP/1.1 401 "));
  CHECK(stranger.hears() == "closed");
}

// All that has come, the server being given its turns.
std::string all_of(Served& served, const Caller& caller) {
  std::string all;
  for (int silent = 0; silent < 3;) {
    served.run();
    const std::string more = caller.hears();
    if (more == "closed") return all + "(closed)";
    silent = more.empty() ? silent + 1 : 0;
    all += more;
  }
  return all;
}

TEST_CASE("who comes by the door has the file, one behind the other on a connection") {
  Served served;
  const std::string archive(3'000, 'a');
  served.write("sent/files/0.tar.gz", archive);
  served.write("sent/racks", "");
  served.write("sent/job.yaml", "name: words\n");
  const Caller yarn(served);
  yarn.say(
      "GET /d00r/files/0.tar.gz HTTP/1.1\r\n\r\nHEAD /d00r/files/0.tar.gz HTTP/1.1\r\n\r\n"
      "GET /d00r/racks HTTP/1.1\r\n\r\nGET /d00r/none HTTP/1.1\r\n\r\n"
      "GET /d00r/job.yaml HTTP/1.1\r\n\r\n");
  CHECK(all_of(served, yarn) == str_cat(file_answer_head(3'000), archive, file_answer_head(3'000),
                                        file_answer_head(0), folder_answer(404, ""),
                                        file_answer_head(12), "name: words\n"));
}

TEST_CASE("a stranger at the door is told so and hung up on, and no path leads out of it") {
  Served served;
  served.write("journal", "begun\n");
  served.write("sent/job.yaml", "name: words\n");
  for (const char* path : {"/door/job.yaml", "/job.yaml", "/"}) {
    const Caller stranger(served);
    stranger.say(str_cat("GET ", path, " HTTP/1.1\r\n\r\n"));
    const std::string heard = all_of(served, stranger);
    CHECK(heard.starts_with("HTTP/1.1 401 "));
    CHECK(heard.ends_with("(closed)"));
  }
  const Caller known(served);
  known.say("GET /d00r/../journal HTTP/1.1\r\n\r\nGET /d00r/files HTTP/1.1\r\n\r\n");
  CHECK(all_of(served, known) == folder_answer(404, "") + folder_answer(404, ""));
}

TEST_CASE("who takes a large file slowly keeps nobody else waiting, and hears when it is cut off") {
  Served served(2);
  served.write("sent/programs.tar", std::string(30'000'000, 'p'));
  const Caller slow(served);
  slow.say("GET /d00r/programs.tar HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 5; ++i) served.run();
  const Caller quick(served);
  quick.say(kRead);
  served.run();
  CHECK(quick.hears() == folder_answer(200, "all\n"));
  CHECK(slow.hears().starts_with("HTTP/1.1 200 "));
  // Room for a third: an early end would be taken for the file's.
  const Caller third(served);
  served.run();
  third.say(kRead);
  served.run();
  CHECK(third.hears() == folder_answer(200, "all\n"));
  CHECK(slow.is_cut_off());
}

TEST_CASE("who takes what is left is noted, and when it has all of it") {
  Served served;
  served.write("left", "journal\n");
  CHECK(served.ask({"POST", "/read", "", "0 journal\n"}) == folder_answer(200, "all\n"));
  CHECK_FALSE(std::filesystem::exists(served.folder() + "/taking"));
  CHECK(served.ask({"POST", "/read", "", "0 left\n"}).ends_with("left 0 8\njournal\nall\n"));
  CHECK(std::filesystem::exists(served.folder() + "/taking"));
  CHECK_FALSE(std::filesystem::exists(served.folder() + "/taken"));
  CHECK(served.ask({"POST", "/taken", "78", ""}).starts_with("HTTP/1.1 401 "));
  CHECK(served.ask({"POST", "/taken", "", ""}) == folder_answer(200, ""));
  CHECK(std::filesystem::exists(served.folder() + "/taken"));
}

TEST_CASE("where too many have connected, who has been silent longest gives way") {
  Served served(2);
  const Caller speaks(served), is_silent(served);
  served.run();
  speaks.say(kRead);
  served.run();
  CHECK(speaks.hears() == folder_answer(200, "all\n"));
  const Caller third(served);
  served.run();
  CHECK(is_silent.hears() == "closed");
  for (const Caller* one : {&speaks, &third}) {
    one->say(kRead);
    served.run();
    CHECK(one->hears() == folder_answer(200, "all\n"));
  }
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

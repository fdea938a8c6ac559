#include "millrace/launch/shipping/file_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/base/testing/scratch_directory.h"
#include "millrace/launch/shipping/shipment.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// What map:0 and map:1 of a job are given: train.py.
class Served {
 public:
  explicit Served(OutputLimits limits = {}) {
    std::ofstream(folder_.path("train.py")) << "print(1)\n";
    const JobSpec job{.roles = {{"map", 2}}, .command = {"c"}, .files = {"train.py"}};
    Shipment shipment =
        Shipment::make(job, {.directory = folder_.path(""), .scratch = folder_.path("")},
                       Clock::real())
            .value();
    manifest_ = shipment.manifest();
    digest_ = shipment.digest();
    server_ = FileServer::listen(std::make_unique<Shipment>(std::move(shipment)),
                                 {.host = "127.0.0.1",
                                  .token = "77",
                                  .output_dir = folder_.path("out"),
                                  .collected_as = {{"map:0", "map_0"}, {"map:1", "map_1"}},
                                  .limits = limits})
                  .value();
  }

  Descriptor connect() const {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return socket;
  }

  // Says that, and hears all that is answered while the server has something to do.
  std::string say(const Descriptor& socket, std::string_view text) {
    if (!text.empty()) send(socket.number(), text.data(), text.size(), MSG_NOSIGNAL);
    std::string heard;
    for (int i = 0; i < 20; ++i) {
      for (std::string& note : server_->turn(now)) notes.push_back(std::move(note));
      char bytes[4096];
      const ssize_t size = recv(socket.number(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (size > 0) heard.append(bytes, static_cast<size_t>(size));
      if (size == 0) return heard + "<hung up>";
    }
    return heard;
  }

  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(folder_.path(name)).rdbuf();
    return text.str();
  }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_.path(name)) << text;
  }
  bool has(const std::string& name) const { return fs::exists(folder_.path(name)); }
  size_t num_in_out() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_.path("out"))) ++count;
    return count;
  }
  const std::string& digest() const { return digest_; }
  const std::string& file_digest() const { return manifest_.files[0].digest; }
  std::string manifest() const { return to_text(manifest_); }

  std::vector<std::string> notes;
  Clock::Time now = Clock::Time(1h);

 private:
  testing::ScratchDirectory folder_;
  Manifest manifest_;
  std::string digest_;
  std::unique_ptr<FileServer> server_;
};

const std::string kHello = "millrace-files 1 77\n";

TEST_CASE("who has the token has what travels, by its digest, as often as it asks") {
  Served served;
  const Descriptor task = served.connect();
  const std::string list = served.manifest();
  const std::string ask = str_cat("get ", served.digest(), "\n");
  CHECK(served.say(task, kHello + ask) == str_cat("blob ", list.size(), "\n", list));
  CHECK(served.say(task, ask) == str_cat("blob ", list.size(), "\n", list));
  CHECK(served.say(task, str_cat("get ", served.file_digest(), "\n")) == "blob 9\nprint(1)\n");
  CHECK(served.say(task, str_cat("get ", std::string(64, '0'), "\n")) ==
        "no no such file travels with this job\n<hung up>");
}

TEST_CASE("what travels is what it was when the job began") {
  Served served;
  const Descriptor task = served.connect();
  served.write("train.py", "other");
  CHECK(served.say(task, kHello + str_cat("get ", served.file_digest(), "\n")) ==
        "blob 9\nprint(1)\n");
}

TEST_CASE("strangers are told nothing, and do not stay") {
  Served served;
  CHECK(served.say(served.connect(), "millrace-files 1 78\n") ==
        "no the token is not that of this job\n<hung up>");
  CHECK(served.say(served.connect(), "GET / HTTP/1.1\r\n\r\n") == "<hung up>");
  CHECK(served.say(served.connect(), str_cat("get ", served.digest(), "\n")) == "<hung up>");
  CHECK(served.say(served.connect(), std::string(20'000, 'a')).ends_with("<hung up>"));
  const Descriptor silent = served.connect();
  CHECK(served.say(silent, "").empty());
  served.now += 11s;
  CHECK(served.say(silent, "") == "<hung up>");
}

TEST_CASE("a task that stops in the middle is let go after a while") {
  Served served;
  const Descriptor task = served.connect();
  CHECK(served.say(task, kHello + "outputs map:1\n") == "ok\n");
  CHECK(served.say(task, "file 100 0 a\n") == "go\n");
  CHECK(served.say(task, "half").empty());
  CHECK(served.num_in_out() == 1);
  served.now += 3min;
  CHECK(served.say(task, "") == "<hung up>");
  CHECK(served.num_in_out() == 0);
}

TEST_CASE("outputs appear whole, and take the place of those of an earlier attempt") {
  Served served;
  const Descriptor task = served.connect();
  CHECK(served.say(task, kHello + "outputs map:1\n") == "ok\n");
  CHECK(served.say(task, "file 3 0 model/w\n") == "go\n");
  CHECK(served.say(task, "one") == "ok\n");
  CHECK(served.say(task, "file 0 1 empty\n") == "go\nok\n");
  CHECK_FALSE(served.has("out/map_1"));
  CHECK(served.say(task, "done\n") == "ok\n");
  CHECK(served.read("out/map_1/model/w") == "one");
  CHECK(served.has("out/map_1/empty"));
  REQUIRE(served.notes.size() == 1);
  CHECK(served.notes[0].starts_with("map:1: its outputs are in "));
  CHECK(served.notes[0].ends_with("/out/map_1: 2 files, 0.0 KiB"));

  CHECK(served.say(task, "outputs map:1\n") == "ok\n");
  CHECK(served.say(task, "file 3 0 other\n") == "go\n");
  CHECK(served.say(task, "two") == "ok\n");
  CHECK(served.read("out/map_1/model/w") == "one");
  CHECK(served.say(task, "done\n") == "ok\n");
  CHECK(served.read("out/map_1/other") == "two");
  CHECK_FALSE(served.has("out/map_1/model"));
  CHECK(served.num_in_out() == 1);
}

TEST_CASE("outputs go nowhere else, and of nobody else") {
  Served served;
  for (const char* call : {"outputs reduce:0\n", "outputs ../map:1\n", "file 1 0 a\n", "done\n"}) {
    INFO(call);
    const std::string told = served.say(served.connect(), kHello + call);
    CHECK(told.starts_with("no "));
    CHECK(told.ends_with("<hung up>"));
  }
  for (const char* call : {"file 1 0 ../a\n", "file 1 0 /tmp/a\n", "file 1 0 a/../../b\n"}) {
    const Descriptor task = served.connect();
    CHECK(served.say(task, kHello + "outputs map:1\n") == "ok\n");
    CHECK(served.say(task, call).ends_with("<hung up>"));
  }
  CHECK(served.num_in_out() == 0);
}

TEST_CASE("outputs have limits, which are told") {
  Served served(OutputLimits{.most_files = 1, .most_bytes = 10});
  const Descriptor task = served.connect();
  CHECK(served.say(task, kHello + "outputs map:1\n") == "ok\n");
  CHECK(served.say(task, "file 11 0 a\n").starts_with("no more than 10 bytes, which is the most"));
  const Descriptor other = served.connect();
  CHECK(served.say(other, kHello + "outputs map:0\n") == "ok\n");
  CHECK(served.say(other, "file 0 0 a\n") == "go\nok\n");
  CHECK(served.say(other, "file 0 0 b\n").starts_with("no more than 1 files"));
  CHECK(served.num_in_out() == 0);
}

TEST_CASE("many strangers wait for each other, and who has the token gets in after them") {
  Served served;
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 256; ++i) strangers.push_back(served.connect());
  CHECK(served.say(strangers.front(), "").empty());
  const Descriptor task = served.connect();
  const std::string ask = kHello + str_cat("get ", served.digest(), "\n");
  CHECK(served.say(task, ask).empty());
  served.now += 11s;
  CHECK(served.say(task, "").starts_with("blob "));
}

}  // namespace
}  // namespace millrace

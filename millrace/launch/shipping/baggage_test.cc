#include "millrace/launch/shipping/baggage.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/base/testing/scratch_directory.h"
#include "millrace/launch/shipping/blob_cache.h"
#include "millrace/launch/shipping/digest.h"
#include "millrace/launch/shipping/file_server.h"
#include "millrace/launch/shipping/shipment.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A process that does that until it is ended.
class Beside {
 public:
  explicit Beside(const std::function<void()>& work) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    work();
    _exit(0);
  }
  ~Beside() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string digest_of(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.hex();
}

// A job with train.py and env.tar.gz, and who serves it.
class Job {
 public:
  Job() {
    fs::create_directories(folder_.path("env/bin"));
    std::ofstream(folder_.path("env/bin/tool")) << "tool";
    std::ofstream(folder_.path("train.py")) << "print(1)\n";
    REQUIRE(std::system(str_cat("cd ", folder_.path(""),
                                " && tar czf env.tar.gz -C env . && "
                                "mkdir scratch && chmod 755 train.py")
                            .c_str()) == 0);
    const JobSpec job{.roles = {{"map", 2}},
                      .command = {"c"},
                      .files = {"train.py", "env.tar.gz"},
                      .outputs = {"made/*"}};
    Shipment shipment =
        Shipment::make(job, {.directory = folder_.path(""), .scratch = folder_.path("scratch")},
                       Clock::real())
            .value();
    digest_ = shipment.digest();
    manifest_ = shipment.manifest();
    server_ = FileServer::listen(std::make_unique<Shipment>(std::move(shipment)),
                                 {.host = "127.0.0.1",
                                  .token = "77",
                                  .output_dir = folder_.path("out"),
                                  .collected_as = {{"map:1", "map_1"}}})
                  .value();
    beside_.emplace([this] {
      for (;;) {
        std::vector<pollfd> events;
        server_->add_descriptors(events);
        poll(events.data(), events.size(), 1000);
        server_->turn(Clock::real().now());
      }
    });
  }

  BaggageRequest request() const {
    return {.files = str_cat("127.0.0.1:", server_->port(), "/", digest_),
            .token = "77",
            .task = {"map", 0, 1},
            .scratch = folder_.path("scratch"),
            .patience = 20s,
            .to_connect = 300ms};
  }
  Result<Baggage> fetch() const { return Baggage::fetch(request(), Clock::real()); }
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string own() const { return str_cat(path("scratch"), "/millrace-", geteuid()); }
  std::string cached(std::string_view digest) const { return str_cat(own(), "/cache/", digest); }
  const Manifest& manifest() const { return manifest_; }
  const std::string& digest() const { return digest_; }
  void vanish() {
    beside_.reset();
    server_.reset();
  }

 private:
  testing::ScratchDirectory folder_;
  std::string digest_;
  Manifest manifest_;
  std::unique_ptr<FileServer> server_;
  std::optional<Beside> beside_;
};

size_t count_in(const std::string& folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++count;
  return count;
}

void wait_until(const std::function<bool()>& is_so) {
  for (int i = 0; i < 2000 && !is_so(); ++i) usleep(10'000);
  CHECK(is_so());
}

TEST_CASE("a task finds its files in a folder of its own, which goes with it") {
  Job job;
  std::string folder;
  {
    const Baggage baggage = job.fetch().value();
    folder = baggage.folder();
    CHECK(text_of(folder + "/train.py") == "print(1)\n");
    CHECK(access((folder + "/train.py").c_str(), X_OK) == 0);
    CHECK(text_of(folder + "/env/bin/tool") == "tool");
    CHECK(baggage.search() == str_cat(folder, "/programs:", folder));
    const Baggage another = job.fetch().value();
    CHECK(another.folder() != folder);
  }
  CHECK_FALSE(fs::exists(folder));
  wait_until([&] { return count_in(job.own() + "/tasks") == 0; });
}

TEST_CASE("what a machine has had it does not ask for again, but looks at it") {
  Job job;
  job.fetch().value();
  const std::string cached = job.cached(job.manifest().files[0].digest);
  SUBCASE("the launcher is not asked") {
    job.vanish();
    CHECK(job.path("").size() > 0);
  }
  SUBCASE("what was changed there is had anew") {
    fs::permissions(cached, fs::perms::owner_all);
    std::ofstream(cached) << "print(2)\n";
    CHECK(text_of(job.fetch()->folder() + "/train.py") == "print(1)\n");
  }
  SUBCASE("what was not brought to its end is brought anew") {
    fs::remove(cached);
    std::ofstream(cached + ".part") << "pri";
    CHECK(text_of(job.fetch()->folder() + "/train.py") == "print(1)\n");
    CHECK_FALSE(fs::exists(cached + ".part"));
  }
}

TEST_CASE("a launcher that is gone is told, with the task") {
  Job job;
  const BaggageRequest request = job.request();
  job.vanish();
  const Status told = Baggage::fetch(request, Clock::real()).status();
  CHECK(told.code() == Code::unavailable);
  CHECK(told.message().find("map:1 on ") != std::string_view::npos);
  CHECK(told.message().find("refused") != std::string_view::npos);
}

TEST_CASE("who has another job's token gets nothing") {
  Job job;
  BaggageRequest request = job.request();
  request.token = "78";
  CHECK(Baggage::fetch(request, Clock::real())
            .status()
            .message()
            .find("the token is not that of this job") != std::string_view::npos);
  CHECK(count_in(job.own() + "/cache") == 0);
}

TEST_CASE("the word to end is heeded while files are brought") {
  Job job;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[1]);
  BaggageRequest request = job.request();
  job.vanish();
  request.leash = ends[0];
  request.to_connect = 1h;
  CHECK(Baggage::fetch(request, Clock::real()).status().code() == Code::cancelled);
  close(ends[0]);
}

TEST_CASE("outputs are brought back, and none that leads elsewhere") {
  Job job;
  const Baggage baggage = job.fetch().value();
  fs::create_directories(baggage.folder() + "/made/deep");
  std::ofstream(baggage.folder() + "/made/deep/w") << std::string(1'000'000, 'w');
  std::ofstream(baggage.folder() + "/made/empty");
  fs::create_symlink("/etc/passwd", baggage.folder() + "/made/link");
  CHECK(baggage.bring_back().ok());
  CHECK(text_of(job.path("out/map_1/made/deep/w")).size() == 1'000'000);
  CHECK(fs::exists(job.path("out/map_1/made/empty")));
  CHECK_FALSE(fs::exists(job.path("out/map_1/made/link")));
  CHECK_FALSE(fs::exists(job.path("out/map_1/train.py")));
}

TEST_CASE("of a folder that somebody else has filled, only what the task made is brought back") {
  Job job;
  BaggageRequest request = job.request();
  request.in_place = job.path("filled");
  fs::create_directories(job.path("filled/made"));
  std::ofstream(job.path("filled/launch.sh")) << "not of the task's";
  {
    const Baggage baggage = Baggage::fetch(request, Clock::real()).value();
    CHECK(baggage.folder() == job.path("filled"));
    CHECK_FALSE(fs::exists(job.path("filled/train.py")));
    std::ofstream(job.path("filled/made/w")) << "w";
    CHECK(baggage.bring_back().ok());
  }
  // Whose it is may keep it.
  CHECK(fs::exists(job.path("filled/launch.sh")));
  CHECK(text_of(job.path("out/map_1/made/w")) == "w");
  request.in_place = job.path("nowhere");
  CHECK(Baggage::fetch(request, Clock::real()).status().message().find("can't look into") !=
        std::string::npos);
}

TEST_CASE("outputs that can't be brought back are told, with the task and the file") {
  Job job;
  const Baggage baggage = job.fetch().value();
  fs::create_directories(baggage.folder() + "/made");
  std::ofstream(baggage.folder() + "/made/w") << "w";
  std::ofstream(job.path("out")) << "no folder";
  const Status told = baggage.bring_back();
  CHECK(told.message().find("map:1 on ") != std::string_view::npos);
  CHECK(told.message().find(": outputs: ") != std::string_view::npos);
  CHECK(told.message().find("can't make the folder") != std::string_view::npos);
}

TEST_CASE("a task's folder goes with a process that is killed") {
  testing::ScratchDirectory tasks;
  {
    const Beside task([&] {
      const auto folder = TaskFolder::make(tasks.path(""), "map_1");
      if (!folder.ok()) _exit(1);
      std::ofstream(folder->path() + "/made") << "1";
      for (;;) pause();
    });
    wait_until([&] { return count_in(tasks.path("")) == 2; });
  }
  wait_until([&] { return count_in(tasks.path("")) == 0; });
}

TEST_CASE("what even a switched off machine left is removed by the next task") {
  testing::ScratchDirectory tasks;
  for (const char* name : {"map_1-left", "map_2-fresh"}) {
    fs::create_directories(tasks.path(name));
    std::ofstream(tasks.path(name) + ".lock");
  }
  const std::string lock = tasks.path("map_1-left.lock");
  fs::last_write_time(lock, fs::last_write_time(lock) - std::chrono::minutes(2));
  const TaskFolder folder = TaskFolder::make(tasks.path(""), "map_1").value();
  CHECK(!fs::exists(lock));
  CHECK(count_in(tasks.path("")) == 4);
  const TaskFolder other = TaskFolder::make(tasks.path(""), "map_1").value();
  CHECK(fs::exists(folder.path()));
}

// --- launchers that lie ---

// Answers each caller with these bytes, behind its greeting, and then hangs up, or does nothing.
class Liar {
 public:
  enum class Then : uint8_t { hangs_up, is_silent };
  Liar(std::string says, Then then) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(bind(socket_.number(), plain, size) == 0);
    REQUIRE(listen(socket_.number(), 16) == 0);
    getsockname(socket_.number(), plain, &size);
    port_ = ntohs(address.sin_port);
    beside_.emplace([this, says = std::move(says), then] {
      for (;;) {
        const int caller = accept(socket_.number(), nullptr, nullptr);
        char heard[4096];
        for (std::string all; all.find("get ") == std::string::npos;) {
          const ssize_t got = recv(caller, heard, sizeof heard, 0);
          if (got <= 0) break;
          all.append(heard, static_cast<size_t>(got));
        }
        send(caller, says.data(), says.size(), MSG_NOSIGNAL);
        if (then == Then::hangs_up) close(caller);
      }
    });
  }

  // What is told to who asks for something that has this digest.
  Status told_of(std::string_view text, Clock::Duration patience = 20s) const {
    return Baggage::fetch({.files = str_cat("127.0.0.1:", port_, "/", digest_of(text)),
                           .token = "77",
                           .task = {"map", 0, 1},
                           .scratch = scratch_.path(""),
                           .patience = patience,
                           .to_connect = 300ms},
                          Clock::real())
        .status();
  }
  std::string cache() const {
    return str_cat(scratch_.path(""), "/millrace-", geteuid(), "/cache");
  }

 private:
  testing::ScratchDirectory scratch_;
  Descriptor socket_;
  int port_ = 0;
  std::optional<Beside> beside_;
};

TEST_CASE("a launcher that gives something else is found out, and nothing is kept") {
  const Liar liar("blob 5\nwrong", Liar::Then::hangs_up);
  const Status told = liar.told_of("right");
  CHECK(told.code() == Code::data_loss);
  CHECK(told.message().find("what came is something else: its SHA-256 is ") !=
        std::string_view::npos);
  CHECK(count_in(liar.cache()) == 0);
}

TEST_CASE("a launcher that breaks off is told, with how far it came") {
  const Liar liar("blob 500\nsome", Liar::Then::hangs_up);
  const Status told = liar.told_of("right");
  CHECK(told.code() == Code::unavailable);
  CHECK(told.message().find("it went away after 4 of 500 bytes") != std::string_view::npos);
  CHECK(count_in(liar.cache()) == 0);
}

TEST_CASE("a launcher that falls silent is not waited for") {
  const Liar liar("blob 500\nsome", Liar::Then::is_silent);
  CHECK(liar.told_of("right", 50ms).message().find("it is silent after 4 of 500 bytes") !=
        std::string_view::npos);
}

TEST_CASE("a launcher that gives without end is not listened to") {
  const Liar liar("blob 99999999999\n", Liar::Then::is_silent);
  CHECK(liar.told_of("right").code() == Code::data_loss);
  const Liar chatty(std::string(100'000, 'a'), Liar::Then::hangs_up);
  CHECK(chatty.told_of("right").message().find("it talks nonsense") != std::string_view::npos);
}

TEST_CASE("a list that would lead out of the task's folder is refused, whoever signed it") {
  const std::string list =
      str_cat(R"({"millrace_files":1,"outputs":{},"files":[{"name":"../a","kind":"file","size":1,)",
              R"("executable":false,"sha256":")", std::string(64, 'a'), R"("}]})");
  const Liar liar(str_cat("blob ", list.size(), "\n", list), Liar::Then::hangs_up);
  CHECK(liar.told_of(list).message().find("'../a' is no name in a task's folder") !=
        std::string_view::npos);
}

// --- the cache ---

TEST_CASE("what was used longest ago goes first, and nothing that is needed") {
  testing::ScratchDirectory folder;
  BlobCache cache(folder.path(""));
  auto have = [&](std::string_view text) {
    const Status had = cache
                           .get({.digest = digest_of(text),
                                 .bring =
                                     [&](int to) {
                                       const bool all = write(to, text.data(), text.size()) ==
                                                        static_cast<ssize_t>(text.size());
                                       return all ? Status() : unavailable("no");
                                     },
                                 .may_wait = [] { return Status(); }})
                           .status();
    REQUIRE(had.ok());
    return digest_of(text);
  };
  const std::string first = have("aaaa");
  const std::string second = have("bbbb");
  const std::string third = have("cccc");
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(folder.path(first), now - 3h);
  fs::last_write_time(folder.path(second), now - 2h);
  cache.trim(8, {first});
  CHECK(fs::exists(folder.path(first)));
  CHECK_FALSE(fs::exists(folder.path(second)));
  CHECK(fs::exists(folder.path(third)));
}

}  // namespace
}  // namespace millrace

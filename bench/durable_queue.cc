// Elements put into a queue that its task keeps on disk, by fifty clients at once: each is answered
// when it is synced. There are two limits: the disk's own, which is as many records appended and
// synced as one group, and that of bare gRPC calls by as many clients, which is the lower one where
// a disk syncs in a fraction of a millisecond. The peer is Redis, which syncs before it answers, if
// redis-server and redis-benchmark are there (Debian's redis): fifty clients that append to a list,
// of one process and one thread. Ours are sessions of one process that have their steps under way
// without a thread each, as those; and, for itself, threads that wait each. What differs: each of
// Redis' clients has a connection of its own, while sessions of one process share one, unless they
// are threads that wait.
//
//   bench_durable_queue [MILLRACE [FOLDER]]     of that program (the one beside this), on that disk
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "bench/child_process.h"
#include "bench/harness.h"
#include "bench/must.h"
#include "bench/raw_grpc.h"

#include "millrace/millrace.h"
#include "millrace/transport/sockets/listening_socket.h"

namespace millrace::bench {
namespace {

constexpr int kClients = 50;
constexpr int kRounds = 5;
constexpr size_t kElementBytes = 100;
// Each of ours, the limits and the peer has so much of a figure's time in each round.
double share() { return figure_seconds() / (kRounds + 1) / 5; }

int free_port() { return must(ListeningSocket::bind("127.0.0.1", 0)).port(); }

// Calls per second of as many threads as there are bodies, each calling its own again and again.
double rate_of_all(const std::vector<std::function<void()>>& bodies) {
  std::atomic<bool> is_over = false;
  std::atomic<int64_t> count = 0;
  std::vector<std::thread> threads;
  const double took = seconds([&] {
    for (const auto& body : bodies) {
      threads.emplace_back([&] {
        for (; !is_over; ++count) body();
      });
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(share()));
    is_over = true;
    for (std::thread& thread : threads) thread.join();
  });
  return static_cast<double>(count) / took;
}

// A task that keeps its state, and fifty sessions on it that put elements into one queue.
class KeptQueue {
 public:
  KeptQueue(const std::string& millrace, const std::string& folder, int at_once)
      : address_(str_cat("127.0.0.1:", free_port())),
        task_({millrace, "serve", str_cat("--keeper_hosts=", address_), "--job_name=keeper",
               "--task_index=0", str_cat("--state=", folder)}),
        runtime_(Runtime::create()) {
    GraphBuilder builder(runtime_->ops());
    const Scope root = builder.root();
    const Output queue = ops::fifo_queue_v2(
        root, {DType::string},
        {.shapes = std::vector<PartialShape>{PartialShape::scalar()}, .shared_name = "kept"});
    const Output element = constant(root, std::string(kElementBytes, 'x'));
    const Operation put =
        at_once == 1
            ? ops::queue_enqueue_v2(root, queue, {element})
            : ops::queue_enqueue_many_v2(root, queue, {ops::fill(root, {at_once}, element)});
    for (int i = 0; i < kClients; ++i) {
      sessions_.push_back(must(Session::create(str_cat("grpc://", address_), {}, runtime_)));
      must(sessions_.back()->extend(builder));
      puts_.push_back(must(sessions_.back()->make_callable({}, {}, {.targets = {put.name()}})));
    }
  }

  // Steps per second, of all clients together, each a thread that waits.
  double rate_of_threads() {
    std::vector<std::function<void()>> bodies;
    for (Callable& put : puts_) bodies.emplace_back([&put] { must(put().status()); });
    return rate_of_all(bodies);
  }
  // The same without threads: who has been answered begins the next.
  double rate() {
    is_over_ = false;
    count_ = 0;
    std::latch left(kClients);
    const double took = seconds([&] {
      for (const Callable& put : puts_) put_on(put, left);
      std::this_thread::sleep_for(std::chrono::duration<double>(share()));
      is_over_ = true;
      left.wait();
    });
    return static_cast<double>(count_) / took;
  }

 private:
  void put_on(const Callable& put, std::latch& left) {
    put.start({}, Done<std::vector<Tensor>>([this, &put, &left](const auto& done) {
                must(done.status());
                ++count_;
                if (is_over_) return left.count_down();
                put_on(put, left);
              }));
  }

  const std::string address_;
  const ChildProcess task_;
  const std::shared_ptr<Runtime> runtime_;
  std::atomic<bool> is_over_ = false;
  std::atomic<int64_t> count_ = 0;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<Callable> puts_;
};

// The same of bare calls that carry as many bytes.
class BareCalls {
 public:
  explicit BareCalls(size_t bytes)
      : server_({own_path(), "--raw"}), slice_(std::string(bytes, 'x')), request_(&slice_, 1) {
    for (int i = 0; i < kClients; ++i) clients_.emplace_back("127.0.0.1:" + server_.first_line());
  }

  double rate() {
    std::vector<std::function<void()>> bodies;
    for (RawClient& client : clients_) {
      bodies.emplace_back([this, &client] { (void)client.call("/raw/Echo", request_); });
    }
    return rate_of_all(bodies);
  }

 private:
  const ChildProcess server_;
  const grpc::Slice slice_;
  const grpc::ByteBuffer request_;
  std::vector<RawClient> clients_;
};

// The same if a group is one write and one sync of so many bytes from every client.
double rate_of_disk(const std::filesystem::path& folder, size_t bytes) {
  const std::string path = folder / "groups";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string group(kClients * bytes, 'x');
  // So many at most that the clock is read every hundred.
  const double each = time_batch(5'000, share(), [&] {
    if (write(file, group.data(), group.size()) == static_cast<ssize_t>(group.size()) &&
        fdatasync(file) == 0) {
      return;
    }
    must(Status(Code::unavailable, str_cat("'", path, "' can't be written and synced")));
  });
  close(file);
  return kClients / each;
}

// A server that syncs every command's change, on the same disk.
class Redis {
 public:
  // Nothing if it is not installed.
  static std::unique_ptr<Redis> start(const std::filesystem::path& folder) {
    if (std::system("command -v redis-server redis-cli redis-benchmark > /dev/null") == 0) {
      return std::make_unique<Redis>(folder);
    }
    std::fprintf(stderr, "no Redis here (Debian's redis): the figure stands without a peer\n");
    return nullptr;
  }

  explicit Redis(const std::filesystem::path& folder)
      : port_(free_port()),
        server_({"redis-server", "--port", str_cat(port_), "--bind", "127.0.0.1", "--dir", folder,
                 "--save", "", "--appendonly", "yes", "--appendfsync", "always"}) {
    const std::string ping = str_cat("redis-cli -p ", port_, " ping 2>/dev/null | grep -q PONG");
    for (int tries = 0; std::system(ping.c_str()) != 0; ++tries) {
      if (tries == 100) must(Status(Code::unavailable, "redis-server does not answer"));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  // Commands per second that append so many elements each, counted over so many commands.
  double rate(int at_once, int commands) const {
    std::string command = str_cat("redis-benchmark -p ", port_, " -c ", kClients, " -n ", commands,
                                  " --csv RPUSH kept");
    for (int i = 0; i < at_once; ++i) command += " " + std::string(kElementBytes, 'x');
    std::FILE* lines = popen(command.c_str(), "r");
    double found = 0;
    // "what was run","requests per second",...
    char line[4096];
    while (std::fgets(line, sizeof(line), lines) != nullptr) {
      const std::string_view text = line;
      const size_t number = text.find("\",\"");
      if (number == text.npos || !text.starts_with("\"RPUSH")) continue;
      found = std::strtod(line + number + 3, nullptr);
    }
    if (pclose(lines) != 0 || found <= 0) must(Status(Code::unavailable, "redis-benchmark failed"));
    return found;
  }

 private:
  const int port_;
  const ChildProcess server_;
};

void measure(const std::string& millrace, const std::filesystem::path& folder, Redis* redis,
             int at_once) {
  const size_t bytes = kElementBytes * static_cast<size_t>(at_once);
  KeptQueue queue(millrace, folder / str_cat("state-", at_once), at_once);
  BareCalls calls(bytes);
  Samples ours, by_threads, disk, bare, peer;
  // A peer's share is counted in commands, so it is asked once how many those are.
  const int commands =
      redis ? static_cast<int>(redis->rate(at_once, 1'000) * share()) + kClients : 0;
  for (Rounds rounds(kRounds); rounds.next();) {
    const double kept = queue.rate(), waited = queue.rate_of_threads(),
                 limit = rate_of_disk(folder, bytes), called = calls.rate();
    const double beside = redis ? redis->rate(at_once, commands) : 0;
    if (!rounds.is_counted()) continue;
    ours.values.push_back(kept * at_once);
    by_threads.values.push_back(waited * at_once);
    disk.values.push_back(limit * at_once);
    bare.values.push_back(called * at_once);
    peer.values.push_back(beside * at_once);
  }
  const std::string name =
      str_cat("elements put into a kept queue by ", kClients, " clients, ", at_once, " at a time");
  Figure figure{.name = name, .unit = "/s", .samples = ours, .better = Better::more};
  figure.goal_is_ratio = true;
  const auto beside = [&](const char* what, const Samples& baseline, std::optional<double> goal) {
    figure.baseline_name = what;
    figure.baseline = baseline;
    figure.goal = goal;
    report(figure);
  };
  beside("as many at once, written and synced", disk, 0.5);
  beside("bare gRPC calls", bare, std::nullopt);
  if (redis) beside("Redis, appendfsync always", peer, 2);
  figure.name += ", each a thread that waits";
  figure.samples = by_threads;
  beside("bare gRPC calls", bare, std::nullopt);
  if (redis) beside("Redis, appendfsync always", peer, std::nullopt);
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  using namespace millrace::bench;
  if (argc > 1 && std::strcmp(argv[1], "--raw") == 0) serve_raw(0);
  setenv("MILLRACE_LOG", "warning", 0);
  const std::string millrace =
      argc > 1 ? argv[1] : (fs::path(own_path()).parent_path() / "millrace").string();
  std::string folder = (argc > 2 ? fs::path(argv[2]) : fs::temp_directory_path()) / "kept-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    return 1;
  }
  {
    const auto redis = Redis::start(folder);
    for (const int at_once : {1, 16}) measure(millrace, folder, redis.get(), at_once);
  }
  fs::remove_all(folder);
}

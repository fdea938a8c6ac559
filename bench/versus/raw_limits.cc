// What bounds the figures of bench/versus_tensorflow: bare gRPC, bare TCP, bare loops.
//
// The first argument names what is measured, the others its sizes. Each line of input is a number
// of seconds; the answer is a line with the seconds that one call took, measured for about so long.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/bare_walk.h"
#include "bench/child_process.h"
#include "bench/harness.h"
#include "bench/layered_graph.h"
#include "bench/must.h"
#include "bench/raw_grpc.h"
#include "bench/versus/bare_tcp.h"

#include "millrace/ops/all.h"
#include "millrace/wire/graph.pb.h"

namespace millrace::bench {
namespace {

constexpr const char* kUsage =
    "usage: raw_limits WHAT [--OPTION NUMBER ...]\n"
    "  calls  gRPC calls: --request and --reply bytes, --tasks servers, --at-once to each,\n"
    "         --in-turn so many times, --clients threads that each do so (1 task, one at once)\n"
    "  tcp    --reply bytes over a bare connection\n"
    "  train  pull --at-once replies of --reply bytes, push as many, subtract them in memory\n"
    "  walk   a graph of --count no-ops, --shape chain or random, with counters alone\n"
    "  queue  into a locked deque and out again\n"
    "  parse  protobuf parse of a GraphDef of --count nodes\n"
    "  start  start a raw gRPC server and get its first answer\n";

using Options = std::map<std::string, std::string>;
// Measures for about so many seconds; seconds per call.
using Sampler = std::function<double(double)>;

size_t number(const Options& options, const std::string& name, size_t otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : std::stoull(found->second);
}

// One call after another.
Sampler repeated(std::function<void()> call) {
  return [call = std::move(call)](double bound) {
    call();
    size_t count = 0, batch = 1;
    double elapsed = 0;
    while (elapsed < bound) {
      elapsed += seconds([&] {
        for (size_t i = 0; i < batch; ++i) call();
      });
      count += batch;
      const double left =
          std::max(0.0, bound - elapsed) / 4 / (elapsed / static_cast<double>(count));
      batch = std::clamp<size_t>(static_cast<size_t>(left), 1, 2 * batch);
    }
    return elapsed / static_cast<double>(count);
  };
}

// Servers of bare gRPC, each a process of its own.
class RawServers {
 public:
  RawServers(size_t count, size_t reply_bytes) {
    for (size_t i = 0; i < count; ++i) {
      processes_.push_back(std::make_unique<ChildProcess>(
          std::vector<std::string>{own_path(), "serve", "--reply", std::to_string(reply_bytes)}));
      addresses_.push_back("127.0.0.1:" + processes_.back()->first_line());
    }
  }
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  std::vector<std::unique_ptr<ChildProcess>> processes_;
  std::vector<std::string> addresses_;
};

grpc::ByteBuffer bytes(size_t count) {
  const grpc::Slice slice(std::string(count, 'x'));
  return {&slice, 1};
}

// Where replies are copied together, as anybody must who is to compute with them.
class Together {
 public:
  explicit Together(size_t size) : buffer_(size) {}
  void operator()(const grpc::ByteBuffer& reply) {
    std::vector<grpc::Slice> slices;
    if (!reply.Dump(&slices).ok() || reply.Length() > buffer_.size()) std::exit(1);
    char* to = buffer_.data();
    for (const grpc::Slice& slice : slices) {
      std::memcpy(to, slice.begin(), slice.size());
      to += slice.size();
    }
  }

 private:
  std::vector<char> buffer_;
};

// Threads that make calls at the same time, each on a connection of its own.
Sampler clients_together(size_t count, const std::string& address,
                         const grpc::ByteBuffer& request) {
  return [=](double bound) {
    std::atomic<size_t> calls = 0;
    const double elapsed = seconds([&] {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < count; ++i)
        threads.emplace_back([&] {
          RawClient client(address);
          const auto start = std::chrono::steady_clock::now();
          while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(bound)) {
            (void)client.call("/raw/Payload", request);
            ++calls;
          }
        });
    });
    return elapsed / static_cast<double>(calls);
  };
}

Sampler calls(const Options& options) {
  const size_t reply = number(options, "reply", 4), clients = number(options, "clients", 1);
  const auto servers = std::make_shared<RawServers>(number(options, "tasks", 1), reply);
  const grpc::ByteBuffer request = bytes(number(options, "request", 4));
  if (clients > 1)
    return [servers, together = clients_together(clients, servers->addresses()[0], request)](
               double bound) { return together(bound); };
  const int at_once = static_cast<int>(number(options, "at-once", 1));
  const size_t in_turn = number(options, "in-turn", 1);
  auto target = std::make_shared<Together>(reply);
  if (servers->addresses().size() == 1 && at_once == 1) {
    auto client = std::make_shared<RawClient>(servers->addresses()[0]);
    return repeated([servers, client, target, request, in_turn] {
      for (size_t i = 0; i < in_turn; ++i) (*target)(client->call("/raw/Payload", request));
    });
  }
  auto fan_out = std::make_shared<RawFanOut>(servers->addresses());
  return repeated([servers, fan_out, target, request, at_once, in_turn] {
    const auto use = [&](const grpc::ByteBuffer& answer) { (*target)(answer); };
    for (size_t i = 0; i < in_turn; ++i) fan_out->call("/raw/Payload", request, at_once, use);
  });
}

Sampler train(const Options& options) {
  const size_t reply = number(options, "reply", 1 << 20);
  const int at_once = static_cast<int>(number(options, "at-once", 1));
  const auto servers = std::make_shared<RawServers>(1, reply);
  auto fan_out = std::make_shared<RawFanOut>(servers->addresses());
  auto target = std::make_shared<Together>(reply);
  const size_t floats = reply / sizeof(float) * static_cast<size_t>(at_once);
  auto model = std::make_shared<std::vector<float>>(floats, 1.0f);
  auto gradient = std::make_shared<std::vector<float>>(floats, 1.0f);
  return repeated([servers, fan_out, target, model, gradient, at_once, request = bytes(reply)] {
    fan_out->call("/raw/Payload", {}, at_once,
                  [&](const grpc::ByteBuffer& answer) { (*target)(answer); });
    fan_out->call("/raw/Take", request, at_once, [](const grpc::ByteBuffer&) {});
    for (size_t i = 0; i < model->size(); ++i) (*model)[i] -= (*gradient)[i];
  });
}

Sampler walk(const Options& options) {
  const auto ops = std::make_shared<OpRegistry>();
  must(register_all_ops(*ops));
  const auto graph = std::make_shared<Graph>(*ops);
  const bool chain = !options.contains("shape") || options.at("shape") == "chain";
  std::mt19937 pick(1);
  const size_t count = number(options, "count", 1000);
  for (size_t i = 0; i < count; ++i) {
    Graph::NewNode node{.name = "n" + std::to_string(i), .op = "NoOp"};
    const auto before = [&](size_t back) { return static_cast<NodeId>(i - back); };
    if (i > 0 && chain) node.control_inputs = {before(1)};
    if (i > 0 && !chain) {
      std::uniform_int_distribution<size_t> near(1, std::min<size_t>(i, 100));
      const NodeId one = before(near(pick)), other = before(near(pick));
      node.control_inputs = {one};
      if (other != one) node.control_inputs.push_back(other);
    }
    (void)must(graph->add(std::move(node)));
  }
  const auto walk = std::make_shared<BareWalk>(*graph);
  return repeated([ops, graph, walk] { walk->run(); });
}

Sampler queue(const Options&) {
  struct Locked {
    std::mutex mutex;
    std::deque<Tensor> tensors;
  };
  const auto locked = std::make_shared<Locked>();
  const Tensor element = Tensor::scalar(1.0f);
  return repeated([=] {
    {
      const std::lock_guard lock(locked->mutex);
      locked->tensors.push_back(element);
    }
    const std::lock_guard lock(locked->mutex);
    locked->tensors.pop_front();
  });
}

Sampler parse(const Options& options) {
  return repeated([graph = layered_graph(static_cast<int>(number(options, "count", 1000)))] {
    tensorflow::GraphDef message;
    if (!message.ParseFromString(graph)) std::exit(1);
  });
}

Sampler start(const Options&) {
  return [](double) {
    return seconds([] {
      const RawServers server(1, 4);
      (void)RawClient(server.addresses()[0]).call("/raw/Payload", {});
    });
  };
}

Sampler tcp(const Options& options) {
  return repeated([connection = std::make_shared<BareTcp>(number(options, "reply", 4))] {
    connection->receive();
  });
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  using namespace millrace::bench;  // NOLINT(google-build-using-namespace): a program, not a header
  const std::map<std::string, Sampler (*)(const Options&)> known = {
      {"calls", calls}, {"tcp", tcp},     {"train", train}, {"walk", walk},
      {"queue", queue}, {"parse", parse}, {"start", start}};
  Options options;
  for (int i = 2; i + 1 < argc; i += 2) options[std::string(argv[i]).substr(2)] = argv[i + 1];
  const std::string what = argc > 1 ? argv[1] : "--help";
  if (what == "serve") serve_raw(number(options, "reply", 4));
  if (!known.contains(what)) {
    std::fputs(kUsage, what == "--help" ? stdout : stderr);
    return what == "--help" ? 0 : 2;
  }
  const Sampler sample = known.at(what)(options);
  double bound = 0;
  while (std::cin >> bound) std::printf("%.9g\n", sample(bound)), std::fflush(stdout);
}

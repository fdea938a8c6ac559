// A scalar step through a remote session to a task in another process, against a bare gRPC call
// that carries as many bytes, also to a process of its own.
#include <cstdlib>
#include <cstring>

#include "bench/child_process.h"
#include "bench/harness.h"
#include "bench/must.h"
#include "bench/raw_grpc.h"

#include "millrace/millrace.h"

namespace millrace::bench {
namespace {

constexpr int kRounds = 15;
constexpr int kSteps = 2000;
constexpr size_t kRequestBytes = 96;  // a RunStep with a handle, a scalar feed and a fetch

[[noreturn]] void serve() {
  ServerOptions options;
  must(options.cluster.add_job("worker", {"127.0.0.1:0"}));
  options.job = "worker";
  const auto server = must(Server::start(std::move(options)));
  std::printf("%s\n", server->target().c_str());
  std::fflush(stdout);
  server->join();
  std::exit(0);
}

void measure() {
  const ChildProcess ours({own_path(), "--serve"});
  const ChildProcess raw({own_path(), "--raw"});

  const auto runtime = Runtime::create();
  GraphBuilder builder(runtime->ops());
  const Operation in = builder.root().add("Placeholder", {}, {{"dtype", DType::f32}});
  const Operation out = builder.root().add("Identity", {Output(in, 0)}, {});
  const auto session = must(Session::create(ours.first_line(), {}, runtime));
  must(session->extend(builder));
  const Tensor value = Tensor::scalar(1.0f);
  const std::string feed = in.name() + ":0", fetch = out.name() + ":0";

  RawClient client("127.0.0.1:" + raw.first_line());
  const grpc::Slice slice(std::string(kRequestBytes, 'x'));
  const grpc::ByteBuffer request(&slice, 1);

  const Pair pair = time_in_turn(
      kRounds, kSteps,
      [&] {
        (void)must(session->run({{feed, value}}, {fetch}));
      },
      [&] { (void)client.call("/raw/Echo", request); });
  report({.name = "step through a remote session, scalar feed and fetch",
          .unit = "us",
          .samples = scaled(pair.ours, 1e6),
          .goal = 1.3,
          .baseline_name = "raw gRPC unary call",
          .baseline = scaled(pair.baseline, 1e6),
          .goal_is_ratio = true});
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--serve") == 0) millrace::bench::serve();
  if (argc > 1 && std::strcmp(argv[1], "--raw") == 0) millrace::bench::serve_raw(0);
  millrace::bench::measure();
}

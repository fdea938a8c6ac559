// A 64 MB tensor from one task to another over gRPC, against the same bytes as a bare ByteBuffer.
//
// Ours is a whole step: the consumer's task runs an op that reads a variable of the other task, so
// the tensor goes through RecvTensor into the buffer that it is then used in. The baseline's
// receiver copies what arrived into one contiguous buffer, as anybody must who is to compute with
// it; the figure without that copy stands beside it.
#include <cstdlib>
#include <cstring>

#include "bench/child_process.h"
#include "bench/harness.h"
#include "bench/must.h"
#include "bench/raw_grpc.h"

#include "millrace/millrace.h"

namespace millrace::bench {
namespace {

constexpr int kRounds = 9;
constexpr int kPerRound = 5;
constexpr int64_t kFloats = 16 << 20;
constexpr size_t kBytes = kFloats * sizeof(float);

// The producing task. Its address is given to the process that measures, which is the other task.
[[noreturn]] void serve(const char* port) {
  ServerOptions options;
  must(options.cluster.add_job("producer", {std::string("127.0.0.1:") + port}));
  options.job = "producer";
  const auto server = must(Server::start(std::move(options)));
  std::printf("%s\n", server->target().c_str());
  std::fflush(stdout);
  server->join();
  std::exit(0);
}

Samples gigabytes_per_second(Samples seconds) {
  for (double& value : seconds.values) value = kBytes / value / 1e9;
  return seconds;
}

void measure() {
  const ChildProcess producer({own_path(), "--serve", "0"});
  const ChildProcess raw({own_path(), "--raw"});
  const std::string address = producer.first_line().substr(std::strlen("grpc://"));

  ServerOptions options;
  must(options.cluster.add_job("producer", {address}));
  must(options.cluster.add_job("consumer", {"127.0.0.1:0"}));
  options.job = "consumer";
  const auto server = must(Server::start(std::move(options)));

  GraphBuilder builder(server->runtime()->ops());
  const Scope there = builder.root().device("/job:producer/task:0");
  const Scope here = builder.root().device("/job:consumer/task:0");
  const Attrs type{
      {"dtype", DType::f32}, {"shape", PartialShape{kFloats}}, {"shared_name", "tensor"}};
  const Operation variable = there.add("VarHandleOp", {}, type);
  const Operation dims = there.add(
      "Const", {},
      {{"value", Tensor::vector<int32_t>({static_cast<int32_t>(kFloats)})}, {"dtype", DType::i32}});
  const Operation one =
      there.add("Const", {}, {{"value", Tensor::scalar(1.0f)}, {"dtype", DType::f32}});
  const Operation fill = there.add("Fill", {Output(dims, 0), Output(one, 0)}, {});
  const Operation assign = there.add("AssignVariableOp", {Output(variable, 0), Output(fill, 0)},
                                     {{"dtype", DType::f32}});
  const Operation read =
      there.add("ReadVariableOp", {Output(variable, 0)}, {{"dtype", DType::f32}});
  const Operation size = here.add("Identity", {Output(read, 0)}, {});

  const auto session = must(Session::create(*server));
  must(session->extend(builder));
  (void)must(session->run({}, {}, {.targets = {assign.name()}}));
  const Callable pull = must(session->make_callable({}, {size.name() + ":0"}));

  RawClient client("127.0.0.1:" + raw.first_line());
  const grpc::ByteBuffer request;
  const auto receive = [&] {
    grpc::ByteBuffer reply = client.call("/raw/Payload", request);
    if (reply.Length() != kBytes) std::exit(1);
    return reply;
  };
  std::vector<char> contiguous(kBytes);
  const auto receive_and_copy = [&] {
    grpc::ByteBuffer reply = receive();
    std::vector<grpc::Slice> slices;
    if (!reply.Dump(&slices).ok()) std::exit(1);
    char* to = contiguous.data();
    for (const grpc::Slice& slice : slices) {
      std::memcpy(to, slice.begin(), slice.size());
      to += slice.size();
    }
  };

  const auto ours = [&] {
    if (must(pull())[0].num_elements() != kFloats) std::exit(1);
  };
  const Pair bare = time_in_turn(kRounds, kPerRound, ours, [&] { (void)receive(); });
  report({.name = "64 MB tensor between two tasks",
          .unit = "GB/s",
          .samples = gigabytes_per_second(bare.ours),
          .better = Better::more,
          .goal = 0.8,
          .baseline_name = "raw ByteBuffer, left in slices",
          .baseline = gigabytes_per_second(bare.baseline),
          .goal_is_ratio = true});
  const Pair usable = time_in_turn(kRounds, kPerRound, ours, receive_and_copy);
  report({.name = "64 MB tensor between two tasks, usable on arrival",
          .unit = "GB/s",
          .samples = gigabytes_per_second(usable.ours),
          .better = Better::more,
          .baseline_name = "raw ByteBuffer, copied together",
          .baseline = gigabytes_per_second(usable.baseline)});
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--serve") == 0) millrace::bench::serve(argv[2]);
  if (argc > 1 && std::strcmp(argv[1], "--raw") == 0)
    millrace::bench::serve_raw(millrace::bench::kBytes);
  millrace::bench::measure();
}

// What clients, graphs and addresses can get wrong, against a real server: each is answered with
// what, where and what to do, and the server goes on serving.
#include "millrace/session/testing/fleet.h"
#include "millrace/wire/graph_def.h"

namespace millrace {
namespace {

using namespace testing;

wire::NodeDef node(std::string name, std::string op, std::vector<std::string> inputs = {},
                   std::vector<std::pair<std::string, AttrValue>> attrs = {}) {
  wire::NodeDef made;
  made.name = std::move(name);
  made.op = std::move(op);
  made.inputs = std::move(inputs);
  made.attrs = std::move(attrs);
  return made;
}

wire::NodeDef one(std::string name) {
  return node(std::move(name), "Const", {}, {{"dtype", DType::i32}, {"value", Tensor::scalar(1)}});
}

wire::GraphDef graph_of(std::vector<wire::NodeDef> nodes) {
  wire::GraphDef graph;
  graph.versions.producer = 2313;
  graph.nodes = std::move(nodes);
  return graph;
}

// A server, and what it says when a new client gives it a graph and runs `fetch`.
struct Served {
  std::unique_ptr<Server> server = Server::start(alone(), runtime()).value();

  std::string run(wire::GraphDef graph, std::string fetch, std::vector<NamedTensor> feeds = {}) {
    auto session = Session::create(server->target(), {}, runtime()).value();
    if (const Status status = session->extend(std::move(graph)); !status.ok())
      return status.to_string();
    return text(session->run(std::move(feeds), {std::move(fetch)}));
  }
  ~Served() {
    CHECK(run(graph_of({one("still_here")}), "still_here:0") == "int32[] 1");
    CHECK(server->stop().ok());
  }
};

TEST_CASE("malformed graphs are refused by name, and the server goes on") {
  Served served;
  const auto told = [&](std::vector<wire::NodeDef> nodes) {
    return served.run(graph_of(std::move(nodes)), "a:0");
  };
  const auto identity = [](std::string input, DType type = DType::i32) {
    return node("b", "Identity", {std::move(input)}, {{"T", type}});
  };
  const std::string unknown = told({one("a"), node("x", "NoSuchOp"), node("y", "NorThis")});
  CHECK_MESSAGE(
      unknown.find("'NoSuchOp', used by 'x'; Op type not registered 'NorThis', used by 'y'") !=
          std::string::npos,
      unknown);
  CHECK(told({one("a"), one("a")}) == "INVALID_ARGUMENT: Node 'a' is not unique");
  CHECK(told({one("a"), identity("c")}) == "INVALID_ARGUMENT: Node 'b': Unknown input node 'c'");
  CHECK(told({one("a"), identity("a", DType::f32)}).find("incompatible with expected float") !=
        std::string::npos);
  CHECK(told({one("a"), identity("a:3")}).find("invalid output 3") != std::string::npos);
  CHECK(told({one("a"), node("b", "Placeholder")}).find("'dtype'") != std::string::npos);
  CHECK(told({one("a"), node("b", "Identity", {"c"}, {{"T", DType::i32}}),
              node("c", "Identity", {"b"}, {{"T", DType::i32}})})
            .find("cycle") != std::string::npos);
}

TEST_CASE("impossible shapes are refused when they are seen") {
  Served served;
  const auto constant_of = [](std::string name, std::vector<int32_t> values) {
    return node(std::move(name), "Const", {},
                {{"dtype", DType::i32},
                 {"value", Tensor::vector<int32_t>(std::span<const int32_t>(values))}});
  };
  CHECK(served
            .run(graph_of({constant_of("v", {1, 2, 3}), constant_of("w", {7, 7}),
                           node("a", "Reshape", {"v", "w"},
                                {{"T", DType::i32}, {"Tshape", DType::i32}})}),
                 "a:0")
            .starts_with("INVALID_ARGUMENT"));
  const std::string large = served.run(
      graph_of({one("v"), constant_of("w", {2'000'000'000, 2'000'000'000}),
                node("a", "Fill", {"w", "v"}, {{"T", DType::i32}, {"index_type", DType::i32}})}),
      "a:0");
  CHECK_MESSAGE(large.find("2000000000") != std::string::npos, large);
  CHECK(!large.starts_with("int32"));
}

TEST_CASE("a tensor that is larger than the machine's memory is refused before it is written") {
  Served served;
  const auto constant_of = [](std::string name, Tensor value) {
    return node(std::move(name), "Const", {},
                {{"dtype", value.dtype()}, {"value", std::move(value)}});
  };
  const auto refused = [](const std::string& text) {
    CHECK_MESSAGE(text.starts_with("RESOURCE_EXHAUSTED"), text);
    CHECK_MESSAGE(text.find("no memory for a block of") != std::string::npos, text);
    CHECK_MESSAGE(text.find("{{node a}}") != std::string::npos, text);
  };
  refused(served.run(
      graph_of({constant_of("w", Tensor::vector<int32_t>({1 << 20, 1 << 20})), one("v"),
                node("a", "Fill", {"w", "v"}, {{"T", DType::i32}, {"index_type", DType::i32}})}),
      "a:0"));
  refused(served.run(graph_of({constant_of("from", Tensor::scalar<int64_t>(0)),
                               constant_of("to", Tensor::scalar(int64_t{1} << 40)),
                               constant_of("by", Tensor::scalar<int64_t>(1)),
                               node("a", "Range", {"from", "to", "by"}, {{"Tidx", DType::i64}})}),
                     "a:0"));
}

TEST_CASE("a graph of a million nodes is taken, and one of its nodes is run") {
  Served served;
  std::vector<wire::NodeDef> nodes{one("n0")};
  for (int i = 1; i < 1'000'000; ++i)
    nodes.push_back(node(str_cat("n", i), "Identity", {str_cat("n", i - 1)}, {{"T", DType::i32}}));
  CHECK(served.run(graph_of(std::move(nodes)), "n10:0") == "int32[] 1");
}

TEST_CASE("wrong feeds and fetches are named") {
  Served served;
  const auto told = [&](std::vector<NamedTensor> feeds, std::string fetch) {
    return served.run(graph_of({node("x", "Placeholder", {},
                                     {{"dtype", DType::f32}, {"shape", PartialShape::scalar()}}),
                                node("y", "Neg", {"x"}, {{"T", DType::f32}})}),
                      std::move(fetch), std::move(feeds));
  };
  CHECK(told({{"x:0", Tensor::scalar(2.0f)}}, "y:0") == "float[] -2");
  CHECK(told({}, "y:0").find("You must feed a value for placeholder tensor 'x'") !=
        std::string::npos);
  CHECK(told({{"x:0", Tensor::scalar(2)}}, "y:0").find("'x:0'") != std::string::npos);
  CHECK(told({{"x:0", Tensor::scalar(2.0f)}, {"gone:0", Tensor::scalar(1.0f)}}, "y:0")
            .find("gone:0") != std::string::npos);
  CHECK(told({{"x:9", Tensor::scalar(2.0f)}}, "y:0").find("x:9") != std::string::npos);
  CHECK(told({{"x:0", Tensor::scalar(2.0f)}}, "z:0").find("z:0") != std::string::npos);
}

TEST_CASE("a host that can't be resolved is named when the session gives up waiting for it") {
  Fleet fleet({"a"});
  CHECK(fleet.cluster.add_job("b", {"no-such-host.invalid:2222"}).ok());
  Server& a = fleet.start("a");
  GraphBuilder builder(runtime()->ops());
  const Output x = constant(builder.root(), 1);
  auto session =
      Session::create(a.target(), {.operation_timeout = std::chrono::seconds(2)}, runtime())
          .value();
  CHECK(session->extend(builder).ok());
  const Status status = session->run({}, {x.name()}).status();
  CHECK(status.code() == Code::deadline_exceeded);
  CHECK_MESSAGE(status.message().find("/job:b/replica:0/task:0 at no-such-host.invalid:2222 "
                                      "(UNAVAILABLE: ") != std::string::npos,
                status.to_string());
  CHECK(status.message().find("can't be resolved") != std::string::npos);

  // A client waits for its master in the same way.
  auto lost = Session::create("grpc://no-such-host.invalid:2222",
                              {.operation_timeout = std::chrono::milliseconds(200)}, runtime())
                  .value();
  CHECK(lost->extend(builder).ok());
  const Status unknown = lost->run({}, {x.name()}).status();
  CHECK(unknown.code() == Code::deadline_exceeded);
  CHECK_MESSAGE(unknown.message().find("no-such-host.invalid:2222") != std::string::npos,
                unknown.to_string());
}

TEST_CASE("a peer that is dead before, during and after a step is named each time") {
  Fleet fleet({"a", "b"});
  Server& a = fleet.start("a");
  GraphBuilder builder(runtime()->ops());
  const Scope there = builder.root().device("/job:b/task:0");
  const Output size = ops::queue_size(there, ops::fifo_queue(there, {DType::i32}));
  const auto open = [&](std::chrono::milliseconds timeout) {
    auto session = Session::create(a.target(), {.operation_timeout = timeout}, runtime()).value();
    CHECK(session->extend(builder).ok());
    return session;
  };
  const Status before = open(std::chrono::milliseconds(200))->run({}, {size.name()}).status();
  CHECK(before.code() == Code::deadline_exceeded);
  CHECK_MESSAGE(before.message().find("/job:b/replica:0/task:0") != std::string::npos,
                before.to_string());

  fleet.start("b");
  auto session = open(std::chrono::seconds(60));
  CHECK(text(session->run({}, {size.name()})) == "int32[] 0");
  fleet.servers.erase("b");
  const Status after = session->run({}, {size.name()}).status();
  CHECK(after.code() == Code::unavailable);
  CHECK_MESSAGE(after.message().find("/job:b/replica:0/task:0") != std::string::npos,
                after.to_string());
}

}  // namespace
}  // namespace millrace

#include "millrace/api/builder.h"

#include <limits>
#include <memory>

#include <doctest/doctest.h>

#include "millrace/api/build_state.h"
#include "millrace/api/scope.h"
#include "millrace/op/infer.h"

namespace millrace {
namespace {

// Ops enough to talk about shapes.
struct ShapeOps {
  OpRegistry registry;
  ShapeOps() {
    REQUIRE(registry
                .add({.name = "Const",
                      .doc = "",
                      .signature = "-> output: dtype | value: tensor, dtype: type",
                      .infer = [](InferContext& context) -> Status {
                        MR_ASSIGN(const Tensor value, context.attrs().tensor("value"));
                        context.set_output(0, value.shape());
                        return {};
                      },
                      .source = Source::constant})
                .ok());
    REQUIRE(registry
                .add({.name = "Placeholder",
                      .doc = "",
                      .signature = "-> output: dtype | dtype: type, shape: shape = ?",
                      .infer = infer::shape_attr,
                      .source = Source::fed})
                .ok());
    REQUIRE(registry
                .add({.name = "Add",
                      .doc = "",
                      .signature = "x: T, y: T -> z: T | T: type",
                      .infer = infer::broadcast})
                .ok());
    REQUIRE(registry
                .add({.name = "AddN",
                      .doc = "",
                      .signature = "inputs: N*T -> sum: T | N: int >= 1, T: type",
                      .infer = infer::same_as_input})
                .ok());
    REQUIRE(
        registry
            .add({.name = "Split",
                  .doc = "",
                  .signature = "value: T -> output: num_split*T | num_split: int >= 1, T: type"})
            .ok());
    REQUIRE(registry
                .add({.name = "Shape",
                      .doc = "",
                      .signature = "input: T -> output: out_type | T: type, "
                                   "out_type: {int32, int64} = int32",
                      .tells = ShapeFact::dims})
                .ok());
    REQUIRE(registry
                .add({.name = "Rank",
                      .doc = "",
                      .signature = "input: T -> output: int32 | T: type",
                      .tells = ShapeFact::rank})
                .ok());
    REQUIRE(registry
                .add({.name = "Identity",
                      .doc = "",
                      .signature = "input: T -> output: T | T: type",
                      .infer = infer::same_as_input,
                      .passes_on = true})
                .ok());
  }
};

Result<NodeId> add_to(Builder& graph, Builder::NewNode node) {
  return graph.add(std::move(node), graph.current());
}

NodeId placeholder(Builder& graph, const std::string& name, PartialShape shape) {
  auto id = add_to(graph, {.name = name,
                           .op = "Placeholder",
                           .attrs = {{"dtype", DType::f32}, {"shape", std::move(shape)}}});
  REQUIRE(id.ok());
  return *id;
}

TEST_CASE("a node's shape is known as soon as it is added") {
  ShapeOps ops;
  Builder graph(ops.registry);
  const NodeId x = placeholder(graph, "x", {kUnknownDim, 3});
  const NodeId y = placeholder(graph, "y", {2, 1});
  const auto z = add_to(
      graph, {.name = "z", .op = "Add", .inputs = {{x, 0}, {y, 0}}, .attrs = {{"T", DType::f32}}});
  REQUIRE(z.ok());
  CHECK(graph.shape({*z, 0}) == PartialShape{2, 3});
}

TEST_CASE("a node whose shapes contradict each other is refused, and leaves nothing behind") {
  ShapeOps ops;
  Builder graph(ops.registry);
  const NodeId x = placeholder(graph, "x", {2});
  const NodeId y = placeholder(graph, "y", {3});
  const auto z = add_to(
      graph, {.name = "z", .op = "Add", .inputs = {{x, 0}, {y, 0}}, .attrs = {{"T", DType::f32}}});
  CHECK(z.status().code() == Code::invalid_argument);
  CHECK(z.status().message().starts_with("Add 'z': "));
  CHECK(graph.graph().size() == 2);
  CHECK(graph.graph().find("z") == nullptr);
}

TEST_CASE("inputs that are not there are refused") {
  ShapeOps ops;
  Builder graph(ops.registry);
  const NodeId x = placeholder(graph, "x", {2});
  for (const Endpoint wrong : {Endpoint{x, 1}, Endpoint{x, -1}, Endpoint{77, 0}}) {
    const auto z = add_to(
        graph, {.name = "z", .op = "Add", .inputs = {{x, 0}, wrong}, .attrs = {{"T", DType::f32}}});
    CHECK(z.status().code() == Code::invalid_argument);
  }
}

TEST_CASE("a wrong number of inputs is refused before the shape rule sees it") {
  ShapeOps ops;
  Builder graph(ops.registry);
  const auto x = add_to(graph, {.name = "x", .op = "Identity", .attrs = {{"T", DType::f32}}});
  CHECK(x.status().message() == "Node 'x' (Identity) takes 1 inputs (float), but has 0");
  for (const int64_t count : {int64_t{0}, int64_t{-7}, std::numeric_limits<int64_t>::max()}) {
    const auto sum =
        add_to(graph, {.name = "sum", .op = "AddN", .attrs = {{"T", DType::f32}, {"N", count}}});
    CHECK(sum.status().code() == Code::invalid_argument);
  }
  CHECK(graph.graph().empty());
}

TEST_CASE("the name of a refused node is free again") {
  ShapeOps ops;
  Builder graph(ops.registry);
  const NodeId x = placeholder(graph, "x", {2});
  const NodeId y = placeholder(graph, "y", {3});
  CHECK(!add_to(graph, {.name = "z", .op = "Add", .inputs = {{x, 0}, {y, 0}}}).ok());
  const auto z = add_to(graph, {.name = "z", .op = "Add", .inputs = {{x, 0}, {x, 0}}});
  REQUIRE(z.ok());
  CHECK(graph.shape({*z, 0}) == PartialShape{2});
}

TEST_CASE("a constant of another type than it says has no value") {
  ShapeOps ops;
  Builder graph(ops.registry);
  const auto constant = add_to(
      graph,
      {.name = "c", .op = "Const", .attrs = {{"value", Tensor::scalar(7)}, {"dtype", DType::f32}}});
  REQUIRE(constant.ok());
  CHECK(!graph.constant({*constant, 0}));
}

TEST_CASE("outputs that a changed attribute adds have unknown shapes") {
  ShapeOps ops;
  Builder graph(ops.registry);
  const NodeId x = placeholder(graph, "x", {2});
  const auto split = add_to(
      graph,
      {.name = "s", .op = "Split", .inputs = {{x, 0}}, .attrs = {{"num_split", int64_t{1}}}});
  REQUIRE(split.ok());
  REQUIRE(graph.set_attr(*split, "num_split", int64_t{9}).ok());
  CHECK(!graph.shape({*split, 8}).has_rank());
}

TEST_CASE("constants, and the shapes and ranks of what has a known one, have values") {
  ShapeOps ops;
  Builder graph(ops.registry);
  const auto constant = add_to(
      graph,
      {.name = "c", .op = "Const", .attrs = {{"value", Tensor::scalar(7)}, {"dtype", DType::i32}}});
  CHECK(*graph.constant({*constant, 0}) == Tensor::scalar(7));

  const NodeId x = placeholder(graph, "x", {2, 3});
  const auto shape = add_to(graph, {.name = "s",
                                    .op = "Shape",
                                    .inputs = {{x, 0}},
                                    .attrs = {{"T", DType::f32}, {"out_type", DType::i64}}});
  CHECK(*graph.constant({*shape, 0}) == Tensor::vector<int64_t>({2, 3}));

  const NodeId unknown = placeholder(graph, "u", {kUnknownDim, 3});
  const auto open = add_to(
      graph, {.name = "t", .op = "Shape", .inputs = {{unknown, 0}}, .attrs = {{"T", DType::f32}}});
  CHECK(!graph.constant({*open, 0}));
  const auto rank = add_to(
      graph, {.name = "r", .op = "Rank", .inputs = {{unknown, 0}}, .attrs = {{"T", DType::f32}}});
  CHECK(*graph.constant({*rank, 0}) == Tensor::scalar<int32_t>(2));
  CHECK(!graph.constant({x, 0}));
}

TEST_CASE("a constant is known behind an identity, but a chain of any length is not walked") {
  ShapeOps ops;
  Builder graph(ops.registry);
  const auto constant = add_to(
      graph,
      {.name = "c", .op = "Const", .attrs = {{"value", Tensor::scalar(7)}, {"dtype", DType::i32}}});
  NodeId last = *constant;
  for (int i = 0; i < 200000; ++i) {
    const auto next = add_to(graph, {.name = "i" + std::to_string(i),
                                     .op = "Identity",
                                     .inputs = {{last, 0}},
                                     .attrs = {{"T", DType::i32}}});
    REQUIRE(next.ok());
    last = *next;
    if (i == 1) CHECK(*graph.constant({last, 0}) == Tensor::scalar(7));
  }
  CHECK(!graph.constant({last, 0}));
}

TEST_CASE("what the program knows of a shape is merged with what was inferred") {
  ShapeOps ops;
  Builder graph(ops.registry);
  const NodeId x = placeholder(graph, "x", {kUnknownDim, 3});
  CHECK(graph.merge_shape({x, 0}, {5, kUnknownDim}).ok());
  CHECK(graph.shape({x, 0}) == PartialShape{5, 3});
  CHECK(graph.merge_shape({x, 0}, {6, 3}).code() == Code::invalid_argument);
  CHECK(graph.shape({x, 0}) == PartialShape{5, 3});
}

// ---- What surrounds the making of a node --------------------------------------------------------

// A graph of `x`, and nodes added to it one by one.
struct Place {
  ShapeOps ops;
  Builder graph{ops.registry};
  NodeId x = placeholder(graph, "x", {2});

  NodeId add(const std::string& name, std::vector<Endpoint> inputs, const Surroundings& around) {
    const auto id = graph.add({.name = graph.claim_name(around.inside(name)),
                               .op = inputs.size() == 1 ? "Identity" : "Add",
                               .inputs = std::move(inputs)},
                              around);
    REQUIRE_MESSAGE(id.ok(), id.status().to_string());
    return *id;
  }
  const Node& operator[](NodeId id) const { return graph.graph()[id]; }
};

DeviceStack::Entry spec(std::string_view text) {
  return {.kind = DeviceStack::Entry::Kind::spec, .spec = DeviceName::parse(text).value()};
}

TEST_CASE("inner device scopes win part by part, and a reset forgets those outside") {
  const DeviceStack outer = DeviceStack().with(spec("/job:ps/task:1/device:CPU:0"));
  CHECK(outer.with(spec("/task:2")).text() == "/job:ps/task:2/device:CPU:0");
  CHECK(outer.with({}).text().empty());
  CHECK(outer.with({}).with(spec("/task:3")).text() == "/task:3");
  CHECK(DeviceStack().with(spec("/job:ps/device:*:1")).text() == "/job:ps");
  CHECK(outer.text() == "/job:ps/task:1/device:CPU:0");
}

TEST_CASE("a device function is asked about the node that was made, and has the last word") {
  Place place;
  Surroundings around;
  std::string seen;
  around.devices = DeviceStack()
                       .with(spec("/job:ps/task:1"))
                       .with({.kind = DeviceStack::Entry::Kind::function,
                              .function = [&](NodeId id) -> Result<DeviceName> {
                                seen = place[id].requested_device();
                                return DeviceName::parse("/task:7");
                              }})
                       .with(spec("/device:CPU:0"));
  const NodeId made = place.add("y", {{place.x, 0}}, around);
  CHECK(seen == "/device:CPU:0");
  CHECK(place[made].requested_device() == "/job:ps/task:7");
}

TEST_CASE("a node that is colocated goes with the other one and its whole group") {
  Place place;
  Surroundings first, second, third;
  first.devices = DeviceStack().with(spec("/job:ps"));
  const NodeId a = place.add("a", {{place.x, 0}}, first);
  second.colocated_with = {a};
  second.devices = DeviceStack().with(spec("/job:worker"));
  const NodeId b = place.add("b", {{place.x, 0}}, second);
  CHECK(place[b].requested_device() == "/job:ps");
  CHECK(place.graph.colocation_groups(b) == std::vector<std::string>{"loc:@a"});
  third.colocated_with = {b};
  third.groups = {"loc:@later"};
  const NodeId c = place.add("c", {{place.x, 0}}, third);
  CHECK(place.graph.colocation_groups(c) == std::vector<std::string>{"loc:@a", "loc:@later"});
  CHECK(place.graph.colocation_groups(a) == std::vector<std::string>{"loc:@a"});
}

TEST_CASE("a node waits for what its scopes name, unless it depends on it anyway") {
  Place place;
  const NodeId first = place.add("first", {{place.x, 0}}, {});
  const NodeId second = place.add("second", {{place.x, 0}}, {});
  Surroundings around;
  around.controls = {std::make_shared<ControlScope>(ControlScope{{first, second}}),
                     std::make_shared<ControlScope>(ControlScope{{first}})};
  const NodeId a = place.add("a", {{place.x, 0}}, around);
  CHECK(place[a].control_inputs == absl::InlinedVector<NodeId, 1>{first, second});
  // It reads what was made inside, which has waited.
  const NodeId b = place.add("b", {{a, 0}}, around);
  CHECK(place[b].control_inputs.empty());
  const NodeId c = place.add("c", {{second, 0}}, around);
  CHECK(place[c].control_inputs == absl::InlinedVector<NodeId, 1>{first});
  around.is_plumbing = true;
  CHECK(place[place.add("d", {{place.x, 0}}, around)].control_inputs.empty());
}

TEST_CASE("a conditional or loop lets inputs in and hears of its nodes") {
  struct Inside final : FlowContext {
    NodeId entrance = kNoNode;
    std::vector<NodeId> nodes = {};
    Status status = {};
    Status admit(std::vector<Endpoint>& inputs, std::vector<NodeId>& before) override {
      MR_TRY(status);
      inputs[0] = {entrance, 0};
      before.clear();
      return {};
    }
    void added(NodeId node) override { nodes.push_back(node); }
  };
  Place place;
  const auto inside = std::make_shared<Inside>();
  inside->entrance = place.add("enter", {{place.x, 0}}, {});
  Surroundings around;
  around.flow = inside;
  around.controls = {std::make_shared<ControlScope>(ControlScope{{place.x}})};
  const NodeId made = place.add("y", {{place.x, 0}}, around);
  CHECK(place[made].inputs[0] == Endpoint{inside->entrance, 0});
  CHECK(place[made].control_inputs.empty());
  CHECK(inside->nodes == std::vector<NodeId>{made});

  inside->status = invalid("not from here");
  const size_t size = place.graph.graph().size();
  CHECK(place.graph.add({.name = "z", .op = "Identity", .inputs = {{place.x, 0}}}, around)
            .status()
            .message() == "not from here");
  CHECK(place.graph.graph().size() == size);
}

TEST_CASE("a scope has what surrounds the program, and narrows it for itself alone") {
  ShapeOps ops;
  const auto builder = std::make_shared<Builder>(ops.registry);
  const NodeId x = placeholder(*builder, "x", {2});
  const NodeId wait = placeholder(*builder, "wait", {2});
  builder->current().name_scope = "train";
  builder->current().devices = DeviceStack().with(spec("/job:ps"));
  builder->current().controls = {std::make_shared<ControlScope>(ControlScope{{wait}})};

  const auto state = std::make_shared<BuildState>(builder);
  const Scope scope = Scope(state, builder->current()).named("gradients").device("/task:1");
  const Operation made = scope.add("Identity", {Output(Operation(state, x), 0)}, {});
  REQUIRE_MESSAGE(state->error.ok(), state->error.to_string());
  CHECK(made.name() == "train/gradients/Identity");
  const Node& node = builder->graph()[made.id()];
  CHECK(node.requested_device() == "/job:ps/task:1");
  CHECK(node.control_inputs == absl::InlinedVector<NodeId, 1>{wait});
  CHECK(builder->shape({made.id(), 0}) == PartialShape{2});
  CHECK(builder->current().name_scope == "train");
  CHECK(builder->claim_name("train/gradients") == "train/gradients_1");
}

}  // namespace
}  // namespace millrace

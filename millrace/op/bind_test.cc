#include "millrace/op/bind.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

struct Seen {
  int64_t axis = 0;
  bool keep = false;
  std::string name;
};
Seen seen;  // what the last kernel was made or run with

class ThreeAttrs final : public Kernel {
 public:
  ThreeAttrs(int64_t axis, bool keep, std::string name) { seen = {axis, keep, std::move(name)}; }
  Status run(KernelContext&) override { return {}; }
};

const OpDef kOp{.name = "Test", .doc = "", .signature = ""};
const std::vector<ArgType> kNoArgs;

Result<std::unique_ptr<Kernel>> make(const KernelFactory& factory, const Attrs& attrs) {
  return factory({"node", AttrView(kOp, attrs), kNoArgs, kNoArgs, ""});
}

TEST_CASE("a kernel class gets its attributes in the order in which they are named") {
  const auto factory = kernel_from<ThreeAttrs>(integer("axis"), boolean("keep"), text("name"));
  REQUIRE(make(factory, {{"axis", int64_t{2}}, {"keep", true}, {"name", std::string("x")}}).ok());
  CHECK(seen.axis == 2);
  CHECK(seen.keep);
  CHECK(seen.name == "x");
}

TEST_CASE("a missing attribute is an error that names it") {
  const auto factory = kernel_from<ThreeAttrs>(integer("axis"), boolean("keep"), text("name"));
  const auto made = make(factory, {{"axis", int64_t{2}}, {"name", std::string("x")}});
  CHECK(made.status().code() == Code::invalid_argument);
  CHECK(made.status().message().find("keep") != std::string::npos);
}

// What an op may bind beside attributes: here, how many inputs the node has.
struct InputCount {
  Result<size_t> read(const KernelSpec& spec) const {
    if (spec.inputs.empty()) return invalid("'", spec.node_name, "' has no inputs");
    return spec.inputs.size();
  }
};

TEST_CASE("a function that makes a tensor gives it as the output, or its error") {
  const auto factory = kernel_with(
      [](KernelContext&, size_t inputs, const std::string& name) -> Result<Tensor> {
        if (name.empty()) return invalid("no name");
        return Tensor::scalar(str_cat(name, inputs));
      },
      InputCount(), text("name"));
  const std::vector<ArgType> two(2, {DType::f32});
  const auto run = [&](std::string name, std::vector<Value>& outputs) {
    const Attrs attrs = {{"name", std::move(name)}};
    auto made = factory({"node", AttrView(kOp, attrs), two, kNoArgs, ""});
    REQUIRE(made.ok());
    StepContext step;
    std::vector<Value> inputs(2);
    KernelContext context(step, "node", inputs, outputs, kNoArgs);
    return (*made)->run(context);
  };
  std::vector<Value> outputs(1);
  CHECK(run("", outputs) == invalid("no name"));
  CHECK_FALSE(outputs[0].tensor.has_value());
  CHECK(run("x", outputs).ok());
  CHECK(outputs[0].tensor == Tensor::scalar(std::string("x2")));
  CHECK(make(factory, {{"name", std::string("x")}}).status() == invalid("'node' has no inputs"));
}

TEST_CASE("a function is run with the attributes that were read when its kernel was made") {
  const auto factory = kernel_with(
      +[](KernelContext&, int64_t axis) -> Status {
        seen.axis = axis;
        return {};
      },
      integer("axis"));
  auto made = make(factory, {{"axis", int64_t{5}}});
  REQUIRE(made.ok());
  StepContext step;
  std::vector<Value> inputs, outputs;
  KernelContext context(step, "node", inputs, outputs, kNoArgs);
  CHECK((*made)->run(context).ok());
  CHECK(seen.axis == 5);
}

}  // namespace
}  // namespace millrace

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

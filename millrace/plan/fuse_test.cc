// Products with what follows them, with the op library itself: what they become are ops that it
// has.
#include "millrace/plan/fuse.h"

#include "doctest/doctest.h"

#include "millrace/graph/text.h"
#include "millrace/graph/validate.h"
#include "millrace/plan/testing/whole_library.h"

namespace millrace {
namespace {

constexpr std::string_view kHere = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr std::string_view kThere = "/job:worker/replica:0/task:1/device:CPU:0";

// The graph after the pass, its last node being what is wanted; of nodes without a device,
// `device`.
std::string fused(std::string_view text, std::vector<std::string> more_roots = {},
                  std::string_view device = kHere) {
  static const DeviceSet devices = *DeviceSet::create(
      {{std::string(kHere), 1, Locality::local_to_master}, {std::string(kThere), 2}});
  StepGraph step{parse_graph(str_cat("x = Placeholder(dtype=float) w = Placeholder(dtype=float) "
                                     "b = Placeholder(dtype=float) ",
                                     text),
                             testing::whole_library())
                     .value(),
                 {},
                 {},
                 {}};
  for (const Node& node : step.graph.nodes()) {
    const bool has_own = !node.requested_device().empty();
    step.graph.set_device(node.id, has_own ? node.requested_device() : device);
  }
  step.roots = {static_cast<NodeId>(step.graph.size() - 1)};
  for (const std::string& root : more_roots) step.roots.push_back(step.graph.find(root)->id);
  CHECK(fuse_chains(step, devices).ok());
  CHECK(validate(step.graph).ok());
  std::string names;
  for (const Node& node : step.graph.nodes()) {
    if (node.op->source == Source::fed) continue;
    str_append(&names, names.empty() ? "" : " ", node.name, "=", node.op->name);
    for (const std::string_view shown :
         {"fused_ops", "leakyrelu_alpha", "transpose_b", "padding"}) {
      const AttrValue* const value = node.attrs().find(shown);
      if (value != nullptr && node.op->name.starts_with('_'))
        str_append(&names, " ", shown, "=", value->to_string());
    }
  }
  return names;
}

constexpr std::string_view kConvolution =
    "c = Conv2D(x, w, strides={1, 1, 1, 1}, padding=\"SAME\") ";

TEST_CASE("a convolution, its bias and an activation are one op, by the last one's name") {
  CHECK(fused(str_cat(kConvolution, "d = BiasAdd(c, b) e = Relu(d)")) ==
        "e=_FusedConv2D fused_ops={\"BiasAdd\", \"Relu\"} padding=\"SAME\"");
  CHECK(fused(str_cat(kConvolution, "d = BiasAdd(c, b) e = LeakyRelu(d, alpha=0.5)")) ==
        "e=_FusedConv2D fused_ops={\"BiasAdd\", \"LeakyRelu\"} leakyrelu_alpha=0.5 "
        "padding=\"SAME\"");
  CHECK(fused(str_cat(kConvolution, "d = BiasAdd(c, b) e = Exp(d)")) ==
        "d=_FusedConv2D fused_ops={\"BiasAdd\"} padding=\"SAME\" e=Exp");
}

TEST_CASE("so is a product of matrices") {
  CHECK(fused("p = MatMul(x, w, transpose_b=true) d = BiasAdd(p, b) e = Tanh(d)") ==
        "e=_FusedMatMul fused_ops={\"BiasAdd\", \"Tanh\"} transpose_b=true");
}

constexpr std::string_view kPooled =
    "g = MaxPoolGrad(x, w, b, ksize={1, 2, 2, 1}, strides={1, 2, 2, 1}, padding=\"SAME\") ";

TEST_CASE("the gradients of a pooling and of the Relu before it are one op") {
  CHECK(fused(str_cat(kPooled, "r = ReluGrad(g, x)")) == "r=_MaxPoolReluGrad padding=\"SAME\"");
  // Other images, another order, another reader.
  CHECK(fused(str_cat(kPooled, "r = ReluGrad(g, w)")) == "g=MaxPoolGrad r=ReluGrad");
  CHECK(fused(str_cat(kPooled, "r = ReluGrad(x, g)")) == "g=MaxPoolGrad r=ReluGrad");
  CHECK(fused(str_cat(kPooled, "r = ReluGrad(g, x)"), {"g"}) == "g=MaxPoolGrad r=ReluGrad");
  CHECK(fused(str_cat(kPooled, "r = ReluGrad(g, x)"), {}, kThere) == "g=MaxPoolGrad r=ReluGrad");
}

TEST_CASE("what somebody else reads or wants stays") {
  CHECK(fused(str_cat(kConvolution, "d = BiasAdd(c, b) e = AddV2(d, c)")) ==
        "c=Conv2D d=BiasAdd e=AddV2");
  CHECK(fused(str_cat(kConvolution, "d = BiasAdd(c, b) e = Relu(d)"), {"c"}) ==
        "c=Conv2D d=BiasAdd e=Relu");
  CHECK(fused(str_cat(kConvolution, "d = BiasAdd(c, b) e = Relu(d)"), {"d"}) ==
        "d=_FusedConv2D fused_ops={\"BiasAdd\"} padding=\"SAME\" e=Relu");
  CHECK(fused(str_cat(kConvolution, "d = BiasAdd(c, b) n = NoOp() ^c e = Relu(d) ^n")) ==
        "c=Conv2D d=BiasAdd n=NoOp e=Relu");
  CHECK(fused("p = MatMul(x, w) d = BiasAdd(x, p)") == "p=MatMul d=BiasAdd");
}

TEST_CASE("what a bias or an activation waits for is waited for") {
  CHECK(fused(str_cat("n = NoOp() ", kConvolution, "d = BiasAdd(c, b) ^n")) ==
        "n=NoOp d=_FusedConv2D fused_ops={\"BiasAdd\"} padding=\"SAME\"");
}

TEST_CASE("channels stand where both say") {
  CHECK(fused(str_cat(kConvolution, "d = BiasAdd(c, b, data_format=\"NCHW\")")) ==
        "c=Conv2D d=BiasAdd");
}

TEST_CASE("nothing is fused on other tasks, nor from one device to another") {
  CHECK(fused(str_cat(kConvolution, "d = BiasAdd(c, b)"), {}, kThere) == "c=Conv2D d=BiasAdd");
  CHECK(fused(str_cat(kConvolution, "d = BiasAdd(c, b) @ ", kThere)) == "c=Conv2D d=BiasAdd");
}

TEST_CASE("other types are left alone: they would be rounded once instead of three times") {
  CHECK(fused("x16 = Placeholder(dtype=half) b16 = Placeholder(dtype=half) "
              "p = MatMul(x16, x16) d = BiasAdd(p, b16)") == "p=MatMul d=BiasAdd");
}

}  // namespace
}  // namespace millrace

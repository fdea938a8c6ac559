#include "millrace/worker/lease_feed.h"

#include "millrace/graph/text.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/held_lease.h"
#include "millrace/worker/testing/test_cluster.h"

namespace millrace::testing {
namespace {

// Gives the number of the element that its step is made under.
OpDef element_op() {
  return {.name = "Element",
          .doc = {},
          .signature = "-> number: int32",
          .cpu = kernel([](KernelContext& context) -> Status {
            const Lease* const lease = context.step().leases->find(HeldLeases::As::before);
            if (lease == nullptr) return not_found("no lease");
            context.set_output(0, Tensor::scalar(static_cast<int32_t>(lease->number)));
            return {};
          }),
          .stateful = true,
          .foldable = false};
}

class LeasedStep {
 public:
  explicit LeasedStep(const std::string& more = "") {
    REQUIRE(register_leases(cluster_.lab.ops).ok());
    REQUIRE(cluster_.lab.ops.add(element_op()).ok());
    text_ = str_cat("lease = _Recv(tensor_type=string, client_terminated=true, ",
                    cluster_.channel("lease", 0, 0), ")\n",
                    "hold = _HoldLease(lease, held_as=\"before\")\n"
                    "number = Element() ^hold\n"
                    "sum = Add(number, x) ^hold\n",
                    more);
    graph_ = cluster_.add_graph(0, text_, {"x"}, {"sum"});
  }

  // Fed by these, in this order.
  TestCluster::Running::Outcome run(std::vector<std::pair<std::string, Tensor>> feeds) {
    return cluster_.run(0, graph_, {.feeds = std::move(feeds), .fetches = {"sum"}});
  }
  // The nodes that are left of it, or "" if the lease is a feed like others.
  std::string reduced() {
    const Graph graph = parse_graph(str_cat("x = _Recv(tensor_type=int32, client_terminated=true, ",
                                            cluster_.channel("x", 0, 0), ")\n", text_),
                                    cluster_.lab.ops)
                            .value();
    const auto found = lease_feed_of(graph).value();
    std::string names;
    if (found)
      for (const Node& node : found->graph->nodes()) str_append(&names, node.name, " ");
    return names;
  }

 private:
  TestCluster cluster_;
  std::string text_, graph_;
};

Tensor number(int32_t value) { return Tensor::scalar(value); }
Tensor lease(uint64_t element) {
  return Tensor::scalar(encode_lease(
      {.queue = 7, .number = element, .attempt = 1, .horizon = element + 1, .open = {element}}));
}

TEST_CASE(
    "a lease that is fed is held before the step begins, wherever it stands among the feeds") {
  LeasedStep step;
  CHECK(step.reduced() == "x number sum ");
  CHECK(step.run({{"x", number(10)}, {"lease", lease(3)}}).value("sum") == number(13));
  CHECK(step.run({{"lease", lease(4)}, {"x", number(20)}}).value("sum") == number(24));
}

TEST_CASE("a lease that another node wants, too, is a feed like others") {
  LeasedStep step("same = Identity(lease)\n");
  CHECK(step.reduced().empty());
  CHECK(step.run({{"x", number(10)}, {"lease", lease(3)}}).value("sum") == number(13));
}

TEST_CASE("a step is not begun under what is no lease") {
  LeasedStep step;
  const auto refused = [&](std::vector<std::pair<std::string, Tensor>> feeds) {
    const Status status = step.run(std::move(feeds)).status;
    CHECK(status.code() == Code::invalid_argument);
    return status.message();
  };
  CHECK(refused({{"x", number(1)}}).find("is fed nothing as its lease") != std::string::npos);
  CHECK(refused({{"x", number(1)}, {"lease", number(5)}}).find("a scalar string") !=
        std::string::npos);
  CHECK_FALSE(refused({{"x", number(1)}, {"lease", Tensor::scalar(std::string("?"))}}).empty());
  // And the next one is as if nothing had been.
  CHECK(step.run({{"x", number(10)}, {"lease", lease(3)}}).value("sum") == number(13));
}

}  // namespace
}  // namespace millrace::testing

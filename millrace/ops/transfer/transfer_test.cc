#include <map>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/ops/testing/op_bench.h"
#include "millrace/ops/transfer/families.h"

namespace millrace {
namespace {

// Keeps what is sent; receives are answered when the value is there already, else left to the test.
class Mailbox final : public Rendezvous {
 public:
  Status send(std::string_view key, Delivery delivery) override {
    sent[std::string(key)] = std::move(delivery);
    return {};
  }
  void receive(std::string_view key, Cancellation*, Done<Delivery> done) override {
    if (auto found = sent.find(std::string(key)); found != sent.end()) {
      done(std::move(found->second));
    } else {
      waiting[std::string(key)] = std::move(done);
    }
  }
  void abort(const Status&) override {}

  std::map<std::string, Delivery> sent;
  std::map<std::string, Done<Delivery>> waiting;
};

const std::string kChannel =
    "/job:ps/replica:0/task:0/device:CPU:0;ffffffffffffffff;"
    "/job:worker/replica:0/task:0/device:CPU:0;x;";

struct Fixture {
  OpRegistry ops;
  Mailbox mailbox;
  std::unique_ptr<Bench> bench;

  Fixture() {
    REQUIRE(register_transfer(ops).ok());
    bench = std::make_unique<Bench>(ops);
    bench->step().rendezvous = &mailbox;
  }
  static Attrs channel() {
    return {{"tensor_name", "x"},
            {"send_device", "/job:ps/replica:0/task:0/device:CPU:0"},
            {"send_device_incarnation", -1},
            {"recv_device", "/job:worker/replica:0/task:0/device:CPU:0"}};
  }
  static BenchNode receiver(FrameIteration where = {}) {
    Attrs attrs = channel();
    attrs.set("tensor_type", DType::f32);
    return {.name = "r", .attrs = std::move(attrs), .where = where};
  }
};

TEST_CASE("what is sent under a key is received under it") {
  Fixture f;
  REQUIRE(f.bench->run("_Send", {Tensor::scalar(2.0f)}, {.attrs = f.channel()}).ok());
  REQUIRE(f.mailbox.sent.count(kChannel + "0:0") == 1);
  const auto received = f.bench->run("_Recv", {}, f.receiver());
  CHECK((*received)[0].tensor == Tensor::scalar(2.0f));
}

TEST_CASE("inside a loop the key has the frame and the iteration") {
  Fixture f;
  REQUIRE(f.bench
              ->run("_HostSend", {Tensor::scalar(2.0f)},
                    {.attrs = f.channel(), .where = {.frame = 7, .iteration = 3}})
              .ok());
  CHECK(f.mailbox.sent.count(kChannel + "7:3") == 1);
  CHECK(f.bench->run("_HostRecv", {}, f.receiver({.frame = 7, .iteration = 3})).ok());
}

TEST_CASE("death is sent, and kills what it reaches") {
  Fixture f;
  REQUIRE(
      f.bench->run("_Send", {Tensor::scalar(2.0f)}, {.attrs = f.channel(), .input_is_dead = true})
          .ok());
  CHECK(f.mailbox.sent[kChannel + "0:0"].is_dead);
  const auto running = f.bench->start("_Recv", {}, f.receiver());
  REQUIRE((*running)->is_done());
  CHECK((*running)->output_is_dead(0));
}

TEST_CASE("a receive waits without holding anything, and fails as the rendezvous says") {
  Fixture f;
  const auto running = f.bench->start("_Recv", {}, f.receiver());
  CHECK_FALSE((*running)->is_done());
  f.mailbox.waiting[kChannel + "0:0"](unavailable("peer gone"));
  REQUIRE((*running)->is_done());
  CHECK((*running)->status() == unavailable("peer gone"));
}

TEST_CASE("a tensor of another type than the graph says is refused") {
  Fixture f;
  REQUIRE(f.bench->run("_Send", {Tensor::scalar<int32_t>(2)}, {.attrs = f.channel()}).ok());
  CHECK(f.bench->run("_Recv", {}, f.receiver()).status().message() ==
        "'r' received a tensor of type int32; it expects float");
}

TEST_CASE("a key that makes no sense is refused when the kernel is made") {
  Fixture f;
  Attrs attrs = f.channel();
  attrs.set("tensor_name", "a;b");
  CHECK(f.bench->run("_Send", {Tensor::scalar(2.0f)}, {.attrs = attrs}).status().code() ==
        Code::invalid_argument);
}

TEST_CASE("without a rendezvous transfers fail instead of waiting") {
  Fixture f;
  f.bench->step().rendezvous = nullptr;
  CHECK(f.bench->run("_Recv", {}, f.receiver()).status().code() == Code::failed_precondition);
}

}  // namespace
}  // namespace millrace

#include "millrace/op/transfer_slots.h"

#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/testing/fake_clock.h"
#include "millrace/op/kernel.h"

namespace millrace {
namespace {

// A node that receives one float.
struct SlotReceiver {
  StepContext step;
  std::vector<Value> outputs = std::vector<Value>(1);
  std::vector<ArgType> types = {{DType::f32, false}};
  KernelContext context{step, "receiver", {}, outputs, types};
  std::vector<Status> answers;

  void receive(TransferSlots& slots, uint32_t slot) {
    slots.receive(slot, context,
                  Done<void>([this](Status status) { answers.push_back(std::move(status)); }));
  }
  bool has(float value) const {
    return answers == std::vector<Status>{Status()} && !context.output_is_dead(0) &&
           outputs[0].tensor == Tensor::scalar(value);
  }
};

struct TwoSlots {
  FakeClock clock;
  TransferSlots slots{clock};
  SlotReceiver one, other;
  TwoSlots() { slots.resize(2); }
};

TEST_CASE("a slot's value is given to its receiver, whichever of the two comes first") {
  TwoSlots f;
  f.slots.send(0, {Tensor::scalar(2.0f)});
  f.one.receive(f.slots, 0);
  CHECK(f.one.has(2.0f));
  f.other.receive(f.slots, 1);
  CHECK(f.other.answers.empty());
  f.slots.send(1, {Tensor::scalar(3.0f)});
  CHECK(f.other.has(3.0f));
}

TEST_CASE("a slot hands on death, and refuses a tensor of another type than the graph says") {
  TwoSlots f;
  f.slots.send(0, {.is_dead = true});
  f.one.receive(f.slots, 0);
  REQUIRE(f.one.answers.size() == 1);
  CHECK(f.one.context.output_is_dead(0));
  f.other.receive(f.slots, 1);
  f.slots.send(1, {Tensor::scalar<int32_t>(3)});
  REQUIRE(f.other.answers.size() == 1);
  CHECK(f.other.answers[0].message() ==
        "'receiver' received a tensor of type int32; it expects float");
}

TEST_CASE("an abort answers the receivers that wait and those that come later, with its reason") {
  TwoSlots f;
  f.one.receive(f.slots, 0);
  f.slots.abort(unavailable("peer gone"));
  f.slots.abort(cancelled("later"));
  f.other.receive(f.slots, 1);
  CHECK(f.one.answers == std::vector{unavailable("peer gone")});
  CHECK(f.other.answers == std::vector{unavailable("peer gone")});
  f.slots.send(0, {Tensor::scalar(2.0f)});
  CHECK(f.one.answers.size() == 1);
}

TEST_CASE("emptied slots serve the next run, whatever the last one left in them") {
  TwoSlots f;
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    SlotReceiver receiver;
    f.slots.send(0, {Tensor::scalar(value)});
    f.slots.send(1, {Tensor::scalar(-value)});  // nobody comes for it
    receiver.receive(f.slots, 0);
    CHECK(receiver.has(value));
    f.slots.clear();
  }
  f.one.receive(f.slots, 1);
  CHECK(f.one.answers.empty());
  f.slots.send(1, {Tensor::scalar(4.0f)});
  CHECK(f.one.has(4.0f));
}

TEST_CASE("a slot tells since when its receiver waits, and nothing when none does") {
  TwoSlots f;
  CHECK_FALSE(f.slots.waits_since(0));
  const auto start = f.clock.now();
  f.clock.advance(std::chrono::seconds(3));
  f.one.receive(f.slots, 0);
  REQUIRE(f.slots.waits_since(0));
  CHECK(*f.slots.waits_since(0) - start == std::chrono::seconds(3));
  CHECK_FALSE(f.slots.waits_since(1));
  f.slots.send(0, {Tensor::scalar(1.0f)});
  CHECK_FALSE(f.slots.waits_since(0));
}

TEST_CASE("a send, a receive and an abort from three threads answer each receiver once") {
  constexpr uint32_t kSlots = 500;
  FakeClock clock;
  TransferSlots slots(clock);
  slots.resize(kSlots);
  std::vector<SlotReceiver> receivers(kSlots);
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (uint32_t i = 0; i < kSlots; ++i) slots.send(i, {Tensor::scalar(static_cast<float>(i))});
  });
  threads.emplace_back([&] {
    for (uint32_t i = 0; i < kSlots; ++i) receivers[i].receive(slots, i);
  });
  threads.emplace_back([&] { slots.abort(cancelled("enough")); });
  for (auto& thread : threads) thread.join();
  for (uint32_t i = 0; i < kSlots; ++i) {
    REQUIRE(receivers[i].answers.size() == 1);
    if (!receivers[i].answers[0].ok()) continue;
    CHECK(receivers[i].outputs[0].tensor == Tensor::scalar(static_cast<float>(i)));
  }
}

}  // namespace
}  // namespace millrace

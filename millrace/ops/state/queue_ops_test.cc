// Queues through their ops: handles, waiting, batches, and what is refused.
#include <thread>

#include "doctest/doctest.h"

#include "millrace/ops/state/families.h"
#include "millrace/ops/state/queue.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

class QueueBench {
 public:
  QueueBench() : ops_(registry()), bench_(*ops_) {}

  // The handle of a queue, by an op like FIFOQueueV2.
  Result<Value> handle(std::string_view op, Attrs attrs) {
    MR_ASSIGN(std::vector<Value> outputs,
              bench_.run(op, {}, {.name = "q", .attrs = std::move(attrs)}));
    return std::move(outputs[0]);
  }
  Status enqueue(const Value& handle, std::vector<Tensor> components,
                 std::string_view op = "QueueEnqueueV2") {
    return bench_.run(op, with(handle, std::move(components)), {.name = "put"}).status();
  }
  Result<std::vector<Value>> dequeue(const Value& handle, std::vector<DType> types, int many = -1,
                                     std::string_view op = "QueueDequeueManyV2") {
    const Attrs attrs{{"component_types", AttrValue(std::move(types))}};
    if (many < 0) return bench_.run("QueueDequeueV2", {handle}, {.name = "take", .attrs = attrs});
    return bench_.run(op, with(handle, {Tensor::scalar<int32_t>(many)}),
                      {.name = "take", .attrs = attrs});
  }
  std::unique_ptr<Running> start_dequeue(const Value& handle, std::vector<DType> types) {
    return bench_
        .start("QueueDequeueV2", {handle},
               {.name = "take", .attrs = {{"component_types", AttrValue(std::move(types))}}})
        .value();
  }
  Bench& bench() { return bench_; }

 private:
  static std::unique_ptr<OpRegistry> registry() {
    auto ops = std::make_unique<OpRegistry>();
    REQUIRE(register_state(*ops).ok());
    return ops;
  }
  static std::vector<Value> with(const Value& handle, std::vector<Tensor> tensors) {
    std::vector<Value> inputs{handle};
    for (Tensor& tensor : tensors) inputs.emplace_back(std::move(tensor));
    return inputs;
  }

  std::unique_ptr<OpRegistry> ops_;
  Bench bench_;
};

Attrs fifo(std::vector<DType> types, std::vector<PartialShape> shapes = {}, int capacity = 10) {
  return {{"component_types", AttrValue(std::move(types))},
          {"shapes", AttrValue(std::move(shapes))},
          {"capacity", AttrValue(capacity)},
          {"shared_name", AttrValue("names")}};
}

TEST_CASE("handles of one shared name are one queue") {
  QueueBench q;
  const Value a = q.handle("FIFOQueueV2", fifo({DType::string})).value();
  const Value b = q.handle("FIFOQueueV2", fifo({DType::string})).value();
  REQUIRE(q.enqueue(a, {Tensor::scalar<std::string>("x")}).ok());
  CHECK(q.dequeue(b, {DType::string}).value()[0].tensor == Tensor::scalar<std::string>("x"));
}

TEST_CASE("a queue without room for any element is refused") {
  QueueBench q;
  CHECK(
      q.handle("FIFOQueueV2", fifo({DType::i32}, {}, 0))
          .status()
          .message()
          .find(
              "a capacity of 0 has no room for any element; give at least 1, or -1 for no limit") !=
      std::string::npos);
  CHECK(q.handle("FIFOQueueV2", fifo({DType::i32}, {}, -1)).ok());
}

TEST_CASE("a second handle that asks for something else is refused with both values") {
  QueueBench q;
  REQUIRE(q.handle("FIFOQueueV2", fifo({DType::i32}, {}, 3)).ok());
  CHECK(q.handle("FIFOQueueV2", fifo({DType::i32}, {}, 4)).status().message() ==
        "Shared queue 'names' has capacity 3 but requested capacity was 4");
  CHECK(q.handle("FIFOQueueV2", fifo({DType::f32}, {}, 3)).status().message() ==
        "Shared queue 'names' has component types int32 but requested component types were float");
  CHECK(q.handle("PaddingFIFOQueueV2", fifo({DType::i32}, {}, 3)).status().message() ==
        "Expected FIFOQueue, found PaddingFIFOQueueV2");
}

TEST_CASE("a second handle may leave the seeds to the first, and not ask for others") {
  QueueBench q;
  const auto with_seed = [&](int seed) {
    Attrs attrs = fifo({DType::i32});
    attrs.set("seed", seed);
    return q.handle("RandomShuffleQueueV2", std::move(attrs)).status();
  };
  REQUIRE(with_seed(7).ok());
  CHECK(with_seed(0).ok());
  CHECK(with_seed(8).message() ==
        "Shared queue 'names' has random seeds (7, 0) but requested seeds are (8, 0).");
}

TEST_CASE("a waiting dequeue is answered by the enqueue that satisfies it") {
  QueueBench q;
  const Value handle = q.handle("FIFOQueueV2", fifo({DType::i32})).value();
  const auto waiting = q.start_dequeue(handle, {DType::i32});
  CHECK_FALSE(waiting->is_done());
  REQUIRE(q.enqueue(handle, {Tensor::scalar<int32_t>(7)}).ok());
  REQUIRE(waiting->is_done());
  CHECK(waiting->outputs().value()[0].tensor == Tensor::scalar<int32_t>(7));
}

TEST_CASE("cancelling the step ends its wait and leaves the queue as it was") {
  QueueBench q;
  const Value handle = q.handle("FIFOQueueV2", fifo({DType::i32})).value();
  const auto waiting = q.start_dequeue(handle, {DType::i32});
  q.bench().cancellation().cancel(cancelled("enough"));
  REQUIRE(waiting->is_done());
  CHECK(waiting->status() == cancelled("Dequeue operation was cancelled"));
}

TEST_CASE("dropping the container ends who waits on its queues") {
  QueueBench q;
  const Value handle = q.handle("FIFOQueueV2", fifo({DType::i32})).value();
  const auto waiting = q.start_dequeue(handle, {DType::i32});
  q.bench().resources().clear("", aborted("reset"));
  REQUIRE(waiting->is_done());
  CHECK(waiting->status() == aborted("reset"));
}

TEST_CASE("rows go in one by one and come out stacked") {
  QueueBench q;
  const Value handle = q.handle("FIFOQueueV2", fifo({DType::i32}, {PartialShape{2}})).value();
  const Tensor rows = Tensor::of<int32_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  REQUIRE(q.enqueue(handle, {rows}, "QueueEnqueueManyV2").ok());
  CHECK(q.dequeue(handle, {DType::i32}, 2).value()[0].tensor ==
        Tensor::of<int32_t>({2, 2}, {1, 2, 3, 4}));
  CHECK(q.dequeue(handle, {DType::i32}).value()[0].tensor == Tensor::vector<int32_t>({5, 6}));
}

TEST_CASE("a padding queue pads a batch to its longest element") {
  QueueBench q;
  const Value handle =
      q.handle("PaddingFIFOQueueV2", fifo({DType::i32}, {PartialShape{kUnknownDim, 2}})).value();
  REQUIRE(q.enqueue(handle, {Tensor::of<int32_t>({1, 2}, {1, 2})}).ok());
  REQUIRE(q.enqueue(handle, {Tensor::of<int32_t>({2, 2}, {3, 4, 5, 6})}).ok());
  CHECK(q.dequeue(handle, {DType::i32}, 2).value()[0].tensor ==
        Tensor::of<int32_t>({2, 2, 2}, {1, 2, 0, 0, 3, 4, 5, 6}));
}

TEST_CASE("what does not fit the queue is refused, and says what does") {
  QueueBench q;
  const Value handle = q.handle("FIFOQueueV2", fifo({DType::i32}, {PartialShape{2}})).value();
  CHECK(q.enqueue(handle, {Tensor::scalar(1.f)}).message() ==
        "Signature mismatch, have: resource, float-> expected: resource, int32->");
  CHECK(q.enqueue(handle, {Tensor::vector<int32_t>({1, 2, 3})}).message() ==
        "Shape mismatch in tuple component 0. Expected [2], got [3]");
  const Tensor rows = Tensor::of<int32_t>({1, 3}, {1, 2, 3});
  CHECK(q.enqueue(handle, {rows}, "QueueEnqueueManyV2").message() ==
        "Shape mismatch in tuple component 0. Expected [1,2], got [1,3]");
  const Value shapeless =
      q.handle("FIFOQueueV2", {{"component_types", AttrValue(std::vector<DType>{DType::i32})},
                               {"shared_name", AttrValue("shapeless")}})
          .value();
  CHECK(q.dequeue(shapeless, {DType::i32}, 2).status().message() ==
        "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes.");
}

TEST_CASE("queues without a shared name are each their own") {
  QueueBench q;
  const Attrs attrs{{"component_types", AttrValue(std::vector<DType>{DType::i32})}};
  const auto name = [](const Value& v) { return v.tensor.item<ResourceHandle>().name; };
  CHECK(name(q.handle("FIFOQueueV2", attrs).value()) == "_0_q");
  CHECK(name(q.handle("FIFOQueueV2", attrs).value()) == "_1_q");
}

TEST_CASE("an element on memory that is lent for a step is copied into the queue") {
  QueueBench bench;
  const Value handle = bench.handle("FIFOQueueV2", fifo({DType::f32})).value();
  float bytes[] = {1, 2};
  Tensor lent =
      Tensor::on_buffer(DType::f32, {2}, Buffer::borrow_for_step(bytes, sizeof(bytes), nullptr))
          .value();
  REQUIRE(bench.enqueue(handle, {std::move(lent)}).ok());
  bytes[0] = 7;
  CHECK(bench.dequeue(handle, {DType::f32}).value()[0].tensor == Tensor::vector<float>({1, 2}));
}

TEST_CASE("producers and consumers on many threads lose and double nothing") {
  auto queue = std::make_shared<Queue>(
      QueueSpec{.op = "FIFOQueueV2", .types = {DType::i64}, .shapes = {}, .capacity = 3}, "q",
      fifo_order());
  constexpr int kThreads = 3, kEach = 2000;
  std::atomic<int64_t> sum{0}, answered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i)
        queue->enqueue({Tensor::scalar<int64_t>(i)}, nullptr,
                       Done<void>([&](Status s) { CHECK(s.ok()); }));
    });
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        queue->dequeue(nullptr, Done<QueueElement>([&](Result<QueueElement> element) {
                         sum += (*element)[0].item<int64_t>();
                         ++answered;
                       }));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(answered == kThreads * kEach);
  CHECK(sum == int64_t{kThreads} * kEach * (kEach - 1) / 2);
}

TEST_CASE("the old form of a handle is the same queue") {
  QueueBench q;
  const Value handle = q.handle("FIFOQueueV2", fifo({DType::i32})).value();
  REQUIRE(q.enqueue(handle, {Tensor::scalar<int32_t>(7)}).ok());
  const Value old = q.bench().run("FakeQueue", {handle}).value()[0];
  REQUIRE(old.ref != nullptr);
  CHECK(q.bench().run("QueueSize", {old}).value()[0].tensor == Tensor::scalar<int32_t>(1));
}

TEST_CASE("stacks of before TensorFlow 1.0 are behind references, and have no limit") {
  QueueBench q;
  const Value stack = q.bench().run("Stack", {}, {.attrs = {{"elem_type", DType::i32}}}).value()[0];
  REQUIRE(stack.ref != nullptr);
  for (const int32_t value : {1, 2})
    REQUIRE(q.bench().run("StackPush", {stack, Tensor::scalar(value)}).ok());
  const Attrs type{{"elem_type", DType::i32}};
  CHECK(q.bench().run("StackPop", {stack}, {.attrs = type}).value()[0].tensor ==
        Tensor::scalar<int32_t>(2));
  REQUIRE(q.bench().run("StackClose", {stack}).ok());
  CHECK_FALSE(q.bench().run("StackPop", {stack}, {.attrs = type}).ok());
}

}  // namespace
}  // namespace millrace

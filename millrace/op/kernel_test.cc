#include "millrace/op/kernel.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

struct OneRun {
  StepContext step;
  std::vector<Value> inputs;
  std::vector<Value> outputs = std::vector<Value>(1);
  std::vector<ArgType> types = {{DType::f32, false}};
  KernelContext context{step, "node", inputs, outputs, types};

  explicit OneRun(Tensor input) : inputs(1) { inputs[0].tensor = std::move(input); }
};

TEST_CASE("an input that nobody else holds lends its buffer to the output") {
  OneRun run(Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  const void* data = run.context.input(0).data();
  const auto output = run.context.reuse_or_allocate(0, 0, {4});
  CHECK(output->data() == data);
  CHECK(output->shape() == Shape{4});
}

TEST_CASE("a shared input, another dtype or another size gets a new buffer") {
  const Tensor shared = Tensor::of<float>({2}, {1, 2});
  OneRun run(shared);
  CHECK(run.context.reuse_or_allocate(0, 0, {2})->data() != shared.data());
  OneRun other_type(Tensor::vector<int32_t>({1, 2}));
  CHECK(other_type.context.reuse_or_allocate(0, 0, {2})->data() !=
        other_type.context.input(0).data());
  OneRun other_size(Tensor::of<float>({2}, {1, 2}));
  CHECK(other_size.context.reuse_or_allocate(0, 0, {3})->num_elements() == 3);
}

TEST_CASE("a kernel of one function runs it, and started it answers at once") {
  const OpDef op{.name = "Test", .doc = "", .signature = ""};
  const Attrs attrs;
  const std::vector<ArgType> none;
  const auto made = kernel([](KernelContext& context) {
    context.set_output(0, context.take_input(0));
    return Status();
  })({"node", {op, attrs}, none, none, ""});
  OneRun run(Tensor::scalar(2.0f));
  bool answered = false;
  made.value()->start(run.context, Done<void>([&](Status status) { answered = status.ok(); }));
  CHECK(answered);
  CHECK(run.outputs[0].tensor.item<float>() == 2.0f);
}

TEST_CASE("outputs are alive, but for those that were called dead") {
  OneRun run(Tensor::scalar(2.0f));
  CHECK_FALSE(run.context.output_is_dead(0));
  run.context.set_other_outputs_dead(100);
  CHECK(run.context.output_is_dead(0));
  CHECK_FALSE(run.context.output_is_dead(100));
  run.context.set_all_outputs_dead();
  CHECK(run.context.output_is_dead(0));
}

}  // namespace
}  // namespace millrace

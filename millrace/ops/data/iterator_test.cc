// Iterators: who waits, who is served, and what ends a wait.
#include <doctest/doctest.h>

#include "millrace/ops/data/testing/pipeline.h"

namespace millrace::data {
namespace {

using testing::calling;
using testing::number;
using testing::Pipeline;

// Pipelines whose function "add" gives its argument and a captured number, together.
class Adding : public Pipeline {
 public:
  Adding() {
    functions->add("add", {DType::i64, DType::i64}, {DType::i64},
                   [](std::vector<Tensor> in) -> Result<Element> {
                     if (in[0].item<int64_t>() == 13) return invalid("thirteen");
                     return Element{number(in[0].item<int64_t>() + in[1].item<int64_t>())};
                   });
  }
  Tensor mapped(const Tensor& dataset) {
    return derive("MapDataset", {dataset, number(100)}, calling("add", outputs({DType::i64})));
  }
  Tensor mapped_at_once(const Tensor& dataset, int64_t calls, const char* deterministic = "true") {
    Attrs attrs = calling("add", outputs({DType::i64}));
    attrs.set("deterministic", deterministic);
    return derive("ParallelMapDatasetV2", {dataset, number(100), number(calls)}, attrs);
  }
  static std::string value(Running& running) {
    const auto made = running.outputs();
    return made.ok() ? testing::text_of((*made)[0].tensor) : made.status().message();
  }
};

TEST_CASE("a function is called with each element and what it captured") {
  Adding made;
  CHECK(made.all(made.mapped(made.range(3))) == "100 101 102");
  CHECK(made.all(made.mapped_at_once(made.range(5), 3)) == "100 101 102 103 104");
}

TEST_CASE("an element that fails is told, and the next one comes") {
  Adding made;
  const Tensor from_12 = made.derive("RangeDataset", {number(12), number(15), number(1)});
  CHECK(made.all(made.mapped(from_12)) == "112 thirteen 114");
  CHECK(made.all(made.mapped_at_once(from_12, 2)) == "112 thirteen 114");
}

TEST_CASE("an iterator that was not begun says so, and one at its end says that again and again") {
  Adding made;
  Attrs attrs = Pipeline::outputs({DType::i64});
  attrs.set("shared_name", "cold");
  attrs.set("container", "");
  const Tensor cold = (*made.bench->run("IteratorV2", {}, {.attrs = attrs}))[0].tensor;
  CHECK(made.get(cold).find("the iterator has not been initialized") != std::string::npos);
  const Tensor walk = made.iterator(made.range(1));
  CHECK(made.get(walk) == "0");
  CHECK(made.get(walk) == "End of sequence");
  CHECK(made.get(walk) == "End of sequence");
}

TEST_CASE("an iterator takes datasets of its types alone") {
  Adding made;
  const Tensor walk = made.iterator(made.range(1));
  const Tensor floats = made.derive("RangeDataset", {number(0), number(1), number(1)},
                                    Pipeline::outputs({DType::f32}));
  CHECK(made.bench->run("MakeIterator", {floats, walk}).status().message() ==
        "Data type mismatch at component 0: expected int64 but got float.");
}

TEST_CASE("who waits is served in turn when the function has ended") {
  Adding made;
  const Tensor walk = made.iterator(made.mapped(made.range(3)));
  made.functions->hold();
  const auto first = made.next(walk), second = made.next(walk);
  CHECK(!first->is_done());
  CHECK(made.functions->num_held() == 1);
  made.functions->answer();
  made.pool.run_all();
  CHECK(Adding::value(*first) == "100");
  CHECK(!second->is_done());
  made.functions->answer();
  made.pool.run_all();
  CHECK(Adding::value(*second) == "101");
}

TEST_CASE("a cancelled step leaves at once, and its element goes to the next") {
  Adding made;
  const Tensor walk = made.iterator(made.mapped(made.range(3)));
  made.functions->hold();
  {
    const auto first = made.next(walk);
    made.bench->cancellation().cancel(cancelled("enough"));
    CHECK(Adding::value(*first) == "enough");
  }
  Cancellation other;
  made.bench->step().cancellation = &other;
  const auto second = made.next(walk);
  made.functions->answer();
  made.pool.run_all();
  CHECK(Adding::value(*second) == "100");
}

TEST_CASE("a new dataset takes the place of a walk that waits") {
  Adding made;
  const Tensor walk = made.iterator(made.mapped(made.range(3)));
  made.functions->hold();
  const auto waiting = made.next(walk);
  REQUIRE(made.bench->run("MakeIterator", {made.range(7), walk}).ok());
  made.pool.run_all();
  CHECK(Adding::value(*waiting) == "0");
  // The call that nobody waits for was told.
  made.functions->answer();
  CHECK(made.get(walk) == "1");
}

TEST_CASE("calls at once keep their order, unless the node lets them overtake each other") {
  for (const bool in_order : {true, false}) {
    Adding made;
    const Tensor walk =
        made.iterator(made.mapped_at_once(made.range(9), 3, in_order ? "true" : "false"));
    made.functions->hold();
    const auto first = made.next(walk);
    made.pool.run_all();
    REQUIRE(made.functions->num_held() == 3);
    made.functions->answer(1);
    made.pool.run_all();
    CHECK(first->is_done() == !in_order);
    made.functions->answer(0);
    made.pool.run_all();
    CHECK(Adding::value(*first) == (in_order ? "100" : "101"));
  }
}

TEST_CASE("elements are made ahead up to the size of the buffer, and no more") {
  Adding made;
  made.functions->hold();
  const Tensor ahead = made.derive("PrefetchDataset", {made.mapped(made.range(9)), number(2)});
  const Tensor walk = made.iterator(ahead);
  const auto first = made.next(walk);
  size_t calls = 0;
  made.pool.run_all();
  while (made.functions->num_held() > 0) {
    made.functions->answer();
    made.pool.run_all();
    ++calls;
  }
  CHECK(Adding::value(*first) == "100");
  CHECK(calls == 3);
}

TEST_CASE("a step that waits for the dataset of a one-shot iterator ends the function with it") {
  Adding made;
  made.functions->add("factory", {}, {DType::variant},
                      [dataset = made.range(2)](const std::vector<Tensor>&) -> Result<Element> {
                        return Element{dataset};
                      });
  Attrs attrs = Pipeline::outputs({DType::i64});
  attrs.set("dataset_factory", FunctionRef{"factory", {}});
  made.functions->hold();
  const auto waiting = made.bench->start("OneShotIterator", {}, {.attrs = attrs});
  REQUIRE(waiting.ok());
  REQUIRE(made.functions->num_held() == 1);
  CHECK_FALSE(made.functions->is_cancelled());
  made.bench->cancellation().cancel(cancelled("enough"));
  CHECK(made.functions->is_cancelled());
  made.functions->answer();
  CHECK((*waiting)->is_done());
}

TEST_CASE("a step that skips for ever can be cancelled") {
  Adding made;
  const Tensor forever = made.derive("RepeatDataset", {made.range(2), number(-1)});
  const Tensor walk = made.iterator(made.derive("SkipDataset", {forever, number(INT64_MAX)}));
  const auto first = made.next(walk);
  for (int turns = 0; turns < 3; ++turns) CHECK(made.pool.run_one());
  CHECK(!first->is_done());
  made.bench->cancellation().cancel(cancelled("enough"));
  CHECK(Adding::value(*first) == "enough");
  made.pool.run_all();
}

TEST_CASE("an iterator that is gone ends waits and the calls it made") {
  Adding made;
  const Tensor walk = made.iterator(made.mapped(made.range(3)));
  made.functions->hold();
  const auto waiting = made.next(walk);
  made.bench->resources().clear_all(aborted("reset"));
  CHECK(Adding::value(*waiting) == "reset");
  made.functions->answer();
}

TEST_CASE("a string names an iterator, and nothing else does") {
  Adding made;
  const Tensor walk = made.iterator(made.range(2));
  const Tensor text = (*made.bench->run("IteratorToStringHandle", {walk}))[0].tensor;
  const Tensor same = (*made.bench->run("IteratorFromStringHandleV2", {text},
                                        {.attrs = Pipeline::outputs({DType::i64})}))[0]
                          .tensor;
  CHECK(made.get(same) == "0");
  CHECK(made.get(walk) == "1");
  for (const char* wrong : {"", "3:abc", "1:a1:b1:c ", "99999999999:x"}) {
    CHECK(made.bench
              ->run("IteratorFromStringHandleV2", {Tensor::scalar(std::string(wrong))},
                    {.attrs = Pipeline::outputs({DType::i64})})
              .status()
              .code() == Code::invalid_argument);
  }
}

}  // namespace
}  // namespace millrace::data

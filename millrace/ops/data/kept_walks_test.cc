// Walks that are kept: where they go on, and what they draw there.
#include <doctest/doctest.h>

#include "millrace/ops/data/iterator.h"
#include "millrace/ops/data/testing/pipeline.h"

namespace millrace::data {
namespace {

using testing::number;
using testing::Pipeline;

Tensor saved_walk(Pipeline& made, const Tensor& walk) {
  auto state = made.bench->run("SerializeIterator", {walk});
  REQUIRE_MESSAGE(state.ok(), state.status().to_string());
  return (*state)[0].tensor;
}

Status gone_on(Pipeline& made, const Tensor& walk, const Tensor& state) {
  return made.bench->run("DeserializeIterator", {walk, state}).status();
}

std::string taken(Pipeline& made, const Tensor& walk, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) str_append(&text, i == 0 ? "" : " ", made.get(walk));
  return text;
}

TEST_CASE("a walk goes on where another one along the same dataset was") {
  Pipeline made;
  const Tensor walk = made.iterator(made.range(5));
  const Tensor unused = saved_walk(made, walk);
  CHECK(taken(made, walk, 3) == "0 1 2");
  const Tensor third = saved_walk(made, walk);
  CHECK(taken(made, walk, 3) == "3 4 End of sequence");
  const Tensor end = saved_walk(made, walk);

  Pipeline other;
  const Tensor again = other.iterator(other.range(5));
  REQUIRE(gone_on(other, again, third).ok());
  CHECK(taken(other, again, 2) == "3 4");
  REQUIRE(gone_on(other, again, end).ok());
  CHECK(other.get(again) == "End of sequence");
  // Also what was gone on with is kept, before and after it moves.
  REQUIRE(gone_on(other, again, saved_walk(other, again)).ok());
  CHECK(other.get(again) == "End of sequence");
  REQUIRE(gone_on(other, again, unused).ok());
  CHECK(taken(other, again, 5) == "0 1 2 3 4");
}

TEST_CASE("walks whose functions have state are kept unless that is refused") {
  Pipeline made;
  for (const char* name : {"pure", "drawing"}) {
    made.functions->add(name, {DType::i64}, {DType::i64},
                        [](std::vector<Tensor> in) -> Result<Element> { return in; });
  }
  made.functions->with_state.insert("drawing");
  const auto kept = [&](const char* function, int64_t policy) {
    const Tensor walk =
        made.iterator(made.derive("MapDataset", {made.range(5)},
                                  testing::calling(function, Pipeline::outputs({DType::i64}))));
    made.get(walk);
    return made.bench
        ->run("SerializeIterator", {walk}, {.attrs = {{"external_state_policy", policy}}})
        .status()
        .to_string();
  };
  for (const int64_t policy : {0, 1, 2}) CHECK(kept("pure", policy) == "OK");
  for (const int64_t policy : {0, 1}) CHECK(kept("drawing", policy) == "OK");
  CHECK(kept("drawing", 2) == "FAILED_PRECONDITION: drawing is stateful.");
  CHECK(kept("pure", 3).find("Unexpected value of external policy: 3") != std::string::npos);
}

TEST_CASE("a walk that goes on draws what it would have drawn, whoever chose the seeds") {
  for (const int64_t seed : {5, 0}) {
    Pipeline made, other;
    const auto shuffled = [&](Pipeline& in) {
      Attrs attrs = Pipeline::outputs({DType::i64});
      attrs.set("reshuffle_each_iteration", true);
      const Tensor each =
          in.derive("ShuffleDataset", {in.range(20), number(7), number(seed), number(seed)}, attrs);
      return in.derive("RepeatDataset", {each, number(3)});
    };
    const Tensor dataset = shuffled(made);
    // The walk before it has taken seeds of the same generator.
    made.get(made.iterator(dataset));
    const Tensor walk = made.iterator(dataset);
    taken(made, walk, 25);
    const Tensor state = saved_walk(made, walk);
    const std::string rest = taken(made, walk, 36);

    const Tensor again = other.iterator(shuffled(other));
    other.get(again);
    REQUIRE(gone_on(other, again, state).ok());
    CHECK(taken(other, again, 36) == rest);
  }
}

TEST_CASE("a walk that goes on past functions that wait can be cancelled, and leaves what was") {
  Pipeline made;
  made.functions->add("same", {DType::i64}, {DType::i64},
                      [](const std::vector<Tensor>& in) -> Result<Element> { return in; });
  const Tensor dataset = made.derive("MapDataset", {made.range(5)},
                                     testing::calling("same", Pipeline::outputs({DType::i64})));
  const Tensor walk = made.iterator(dataset);
  CHECK(taken(made, walk, 3) == "0 1 2");
  const Tensor state = saved_walk(made, walk);
  made.get(walk);
  made.functions->hold();
  {
    const auto waiting = *made.bench->start("DeserializeIterator", {walk, state});
    CHECK(!waiting->is_done());
    made.bench->cancellation().cancel(cancelled("enough"));
    made.pool.run_all();
    REQUIRE(waiting->is_done());
    CHECK(waiting->status().code() == Code::cancelled);
  }
  Cancellation other;
  made.bench->step().cancellation = &other;
  while (made.functions->num_held() > 0) made.functions->answer();
  made.pool.run_all();
  const auto waiting = *made.bench->start("DeserializeIterator", {walk, state});
  for (int call = 0; call < 3; ++call) {
    CHECK(!waiting->is_done());
    REQUIRE(made.functions->num_held() == 1);
    made.functions->answer();
    made.pool.run_all();
  }
  REQUIRE(waiting->is_done());
  CHECK(waiting->status().ok());
  const auto next = made.next(walk);
  made.functions->answer();
  made.pool.run_all();
  CHECK((*next->outputs())[0].tensor == number(3));
}

TEST_CASE("what is no state of a walk is refused, and so is a walk that has not begun") {
  Pipeline made;
  Attrs attrs = Pipeline::outputs({DType::i64});
  attrs.set("shared_name", "cold");
  attrs.set("container", "");
  const Tensor cold = (*made.bench->run("IteratorV2", {}, {.attrs = attrs}))[0].tensor;
  CHECK(made.bench->run("SerializeIterator", {cold}).status().code() == Code::failed_precondition);
  const Tensor walk = made.iterator(made.range(2));
  const Tensor state = saved_walk(made, walk);
  CHECK(gone_on(made, cold, state).code() == Code::failed_precondition);

  const auto refused = [&](Variant variant) {
    return gone_on(made, walk, Tensor::vector<Variant>({std::move(variant)})).code() ==
           Code::invalid_argument;
  };
  const Variant good = state.flat<Variant>()[0];
  CHECK(refused({"tensorflow::Iterator", good.metadata, {}}));
  CHECK(refused({good.type_name, good.metadata + '\0', {}}));
  CHECK(refused({good.type_name, "", {}}));
  // A count of generators that no state has.
  CHECK(refused({good.type_name, std::string("\1\0\0\xff\xff\xff\x7f", 7), {}}));
  CHECK(gone_on(made, walk, Tensor::vector<Variant>({good, good})).code() ==
        Code::invalid_argument);
  CHECK(taken(made, walk, 2) == "0 1");
}

}  // namespace
}  // namespace millrace::data

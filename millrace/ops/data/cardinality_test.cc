// How many elements datasets say they have, and how many take turns where nobody says it.
#include <doctest/doctest.h>

#include "millrace/ops/data/dataset_variant.h"
#include "millrace/ops/data/testing/pipeline.h"

namespace millrace::data {
namespace {

using testing::calling;
using testing::flag;
using testing::number;
using testing::Pipeline;

int64_t cardinality(Pipeline& made, const Tensor& dataset) {
  const auto told = made.bench->run("DatasetCardinality", {dataset});
  REQUIRE_MESSAGE(told.ok(), told.status().to_string());
  return (*told)[0].tensor.item<int64_t>();
}

TEST_CASE("what counts up to the largest number there is counts as endless") {
  Pipeline made;
  const auto range = [&](int64_t start, int64_t stop, int64_t step) {
    return cardinality(made,
                       made.derive("RangeDataset", {number(start), number(stop), number(step)}));
  };
  CHECK(range(0, 5, 2) == 3);
  CHECK(range(0, INT64_MAX, 1) == kInfinite);
  CHECK(range(0, INT64_MAX - 1, 1) == INT64_MAX - 1);
  CHECK(range(5, 0, 1) == 0);
}

TEST_CASE("skipping everything is endless work in an endless dataset") {
  Pipeline made;
  const Tensor endless = made.derive("RepeatDataset", {made.range(2), number(-1)});
  CHECK(cardinality(made, made.derive("SkipDataset", {endless, number(-1)})) == kInfinite);
  CHECK(cardinality(made, made.derive("SkipDataset", {made.range(2), number(-1)})) == 0);
  CHECK(cardinality(made, made.derive("SkipDataset", {made.range(9), number(2)})) == 7);
}

TEST_CASE("batches cut anew are of an unknown number, also those of an endless dataset") {
  Pipeline made;
  const Tensor endless = made.derive("RepeatDataset", {made.range(2), number(-1)});
  const Tensor batches = made.derive("BatchDatasetV2", {endless, number(2), flag(false)});
  CHECK(cardinality(made, made.derive("RebatchDatasetV2", {batches, Tensor::vector<int64_t>({3}),
                                                           flag(false)})) == kUnknown);
}

Attrs grouping() {
  Attrs attrs = Pipeline::outputs({DType::i64});
  for (const char* name : {"key_func", "reduce_func", "window_size_func"})
    attrs.set(name, FunctionRef{"group", {}});
  return attrs;
}

TEST_CASE("groups of an endless dataset have no end") {
  Pipeline made;
  const Tensor endless = made.derive("RepeatDataset", {made.range(2), number(-1)});
  CHECK(cardinality(made, made.derive("GroupByWindowDataset", {endless}, grouping())) == kInfinite);
  CHECK(cardinality(made, made.derive("GroupByWindowDataset", {made.range(2)}, grouping())) ==
        kUnknown);
}

// 0 0 0 1 1 1 2 2 2, three datasets of three.
class Triples : public Pipeline {
 public:
  Triples() {
    functions->add("triple", {DType::i64}, {DType::variant},
                   [this](std::vector<Tensor> in) -> Result<Element> {
                     Attrs attrs = outputs({DType::i64});
                     attrs.set("Toutput_types", AttrValue::List<DType>({DType::i64}));
                     const Tensor one = derive("TensorDataset", {in[0]}, attrs);
                     return Element{derive("RepeatDataset", {one, number(3)})};
                   });
  }
  std::vector<Tensor> inputs(const Tensor& input, int64_t cycle,
                             std::initializer_list<int64_t> more) {
    std::vector<Tensor> given{input, number(cycle), number(1)};
    for (const int64_t value : more) given.push_back(number(value));
    return given;
  }
  Attrs attrs() { return calling("triple", outputs({DType::i64})); }
};

TEST_CASE("interleaves that nobody tells a cycle take as many as the machine runs at once") {
  Triples made;
  const auto in_turns = [&](int64_t cycle) {
    return made.all(
        made.derive("InterleaveDataset", made.inputs(made.range(3), cycle, {}), made.attrs()));
  };
  CHECK(in_turns(-1) == "0 0 0 1 1 1 2 2 2");
  made.pool.set_breadth(2);
  CHECK(in_turns(-1) == "0 1 0 1 0 1 2 2 2");
  CHECK(in_turns(-1) == in_turns(2));
  made.pool.set_breadth(8);
  CHECK(in_turns(-1) == "0 1 2 0 1 2 0 1 2");
  CHECK(made.status_of("InterleaveDataset", made.inputs(made.range(3), 0, {}), made.attrs())
            .message() == "cycle_length must be greater than zero.");
}

TEST_CASE("parallel interleaves take as many as calls, or a third of the machine") {
  Triples made;
  const auto parallel = [&](int64_t cycle, int64_t calls) {
    return made.all(made.derive("ParallelInterleaveDatasetV3",
                                made.inputs(made.range(3), cycle, {calls}), made.attrs()));
  };
  made.pool.set_breadth(4);
  CHECK(parallel(-1, -1) == "0 1 0 1 0 1 2 2 2");
  CHECK(parallel(-1, 1) == "0 0 0 1 1 1 2 2 2");
  CHECK(parallel(-1, 3) == "0 1 2 0 1 2 0 1 2");
  CHECK(made.status_of("ParallelInterleaveDatasetV3", made.inputs(made.range(3), -1, {5}),
                       made.attrs())
            .code() == Code::invalid_argument);
  CHECK(made.status_of("LegacyParallelInterleaveDatasetV2", made.inputs(made.range(3), -1, {1, 1}),
                       made.attrs())
            .code() == Code::invalid_argument);
}

TEST_CASE("of interleaves only the parallel ones tell that they are endless") {
  Triples made;
  const Tensor endless = made.derive("RepeatDataset", {made.range(2), number(-1)});
  CHECK(cardinality(made, made.derive("InterleaveDataset", made.inputs(endless, 2, {}),
                                      made.attrs())) == kUnknown);
  CHECK(cardinality(made, made.derive("ParallelInterleaveDatasetV3", made.inputs(endless, 2, {1}),
                                      made.attrs())) == kInfinite);
}

}  // namespace
}  // namespace millrace::data

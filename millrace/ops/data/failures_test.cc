// What becomes of the elements around one that failed: walks go on behind it, as TensorFlow's do.
#include <doctest/doctest.h>

#include "millrace/ops/data/testing/pipeline.h"

namespace millrace::data {
namespace {

using testing::calling;
using testing::flag;
using testing::number;
using testing::Pipeline;

// The numbers below `stop`, of which 1 and 5 fail: "0 bad 2 3 4 bad 6".
class Spoilt : public Pipeline {
 public:
  Spoilt() {
    functions->add("but 1 and 5", {DType::i64}, {DType::i64},
                   [](std::vector<Tensor> in) -> Result<Element> {
                     if (in[0].item<int64_t>() % 4 == 1) return invalid("bad");
                     return in;
                   });
    functions->add("itself", {DType::variant}, {DType::variant},
                   [](std::vector<Tensor> in) -> Result<Element> { return in; });
  }
  Tensor numbers(int64_t stop = 7) {
    return derive("MapDataset", {range(stop)}, calling("but 1 and 5", outputs({DType::i64})));
  }
  std::string windows(int64_t size, int64_t shift, int64_t stride, bool drop) {
    const Tensor made = derive("WindowDataset",
                               {numbers(), number(size), number(shift), number(stride), flag(drop)},
                               outputs({DType::variant}));
    return all(derive("FlatMapDataset", {made}, calling("itself", outputs({DType::i64}))));
  }
};

TEST_CASE("an element that fails takes those with it that were to lie in its batch before it") {
  Spoilt made;
  const auto batches = [&](bool drop) {
    return made.all(made.derive("BatchDatasetV2", {made.numbers(), number(2), flag(drop)}));
  };
  CHECK(batches(false) == "bad [2 3] bad [6]");
  CHECK(batches(true) == "bad [2 3] bad");
}

TEST_CASE("where batches are mapped at once, one that fails fails as a whole, and once") {
  Spoilt made;
  const auto batches = [&](int64_t size, bool drop) {
    return made.all(made.derive("MapAndBatchDataset",
                                {made.range(7), number(size), number(1), flag(drop)},
                                calling("but 1 and 5", Pipeline::outputs({DType::i64}))));
  };
  CHECK(batches(2, false) == "bad [2 3] bad [6]");
  CHECK(batches(2, true) == "bad [2 3] bad");
  CHECK(batches(3, false) == "bad bad [6]");
  CHECK(batches(7, true) == "bad");
}

TEST_CASE("rows that were to lie in one batch with what failed go with it") {
  Spoilt made;
  const Tensor pairs = made.derive("BatchDatasetV2", {made.numbers(), number(2), flag(false)});
  const auto again = [&](std::initializer_list<int64_t> sizes) {
    return made.all(
        made.derive("RebatchDatasetV2", {pairs, Tensor::vector<int64_t>(sizes), flag(false)}));
  };
  CHECK(again({3}) == "bad bad [6]");
  CHECK(again({1, 2}) == "bad [2] bad [6]");
}

TEST_CASE("an element that fails spoils the windows that it lies in, and no others") {
  Spoilt made;
  CHECK(made.windows(2, 2, 1, false) == "bad 2 3 bad 6");
  CHECK(made.windows(2, 1, 1, true) == "bad bad 2 3 3 4 bad bad");
  CHECK(made.windows(2, 2, 2, true) == "0 2 2 4 4 6");
  CHECK(made.windows(1, 4, 1, true) == "0 4");
  CHECK(made.windows(1, 5, 1, true) == "0 bad");
  CHECK(made.windows(8, 1, 1, false) == "bad bad bad bad bad bad 6");
}

TEST_CASE("a dataset whose turn it was and failed has had its turn") {
  Spoilt made;
  Attrs attrs = Pipeline::outputs({DType::i64});
  attrs.set("Toutput_types", AttrValue::List<DType>({DType::i64}));
  const Tensor turns =
      made.derive("TensorSliceDataset", {Tensor::vector<int64_t>({0, 0, 1, 0, 1})}, attrs);
  CHECK(made.all(made.derive("DirectedInterleaveDataset",
                             {turns, made.numbers(4), made.range(2)})) == "0 bad 0 2 1");
}

}  // namespace
}  // namespace millrace::data

// Sparse tensors cut into elements, and made of them, through their ops.
#include <doctest/doctest.h>

#include "millrace/ops/data/testing/pipeline.h"
#include "millrace/tensor/boxes.h"

namespace millrace::data {
namespace {

using testing::number;
using testing::Pipeline;

const std::vector<DType> kParts = {DType::i64, DType::string, DType::i64};

class SparseTest {
 public:
  Result<std::vector<Value>> sliced(Tensor indices, Tensor values, Tensor shape) {
    return made.bench->run("SparseTensorSliceDataset",
                           {std::move(indices), std::move(values), std::move(shape)});
  }
  Status refused(Tensor indices, Tensor shape) {
    const int64_t count = indices.shape().dim(0);
    return sliced(std::move(indices),
                  Tensor::vector<int64_t>(std::vector<int64_t>(static_cast<size_t>(count))),
                  std::move(shape))
        .status();
  }
  Tensor batches(const std::string& op, const Tensor& dataset, std::vector<int64_t> row) {
    return made.derive(op, {dataset, number(2), Tensor::vector<int64_t>(row)},
                       Pipeline::outputs({DType::variant}));
  }
  // Places, values and shape of the next batch; or the error.
  std::string next(const Tensor& iterator) {
    const auto running = made.next(iterator, {DType::variant});
    made.pool.run_all();
    const auto outputs = running->outputs();
    if (!outputs.ok()) return outputs.status().to_string();
    std::string text;
    for (const Variant& part : (*outputs)[0].tensor.flat<Variant>())
      text += (text.empty() ? "" : " ") + testing::text_of(part.tensors[0]);
    return text;
  }

  Pipeline made;
};

TEST_CASE("a sparse tensor is cut along its first axis, parts without a value included") {
  SparseTest t;
  const auto dataset =
      t.sliced(Tensor::of<int64_t>({3, 2}, {1, 0, 1, 4, 3, 2}),
               Tensor::vector<std::string>({"a", "b", "c"}), Tensor::vector<int64_t>({4, 5}));
  REQUIRE(dataset.ok());
  CHECK(t.made.all((*dataset)[0].tensor, kParts) ==
        R"([],[],[5] [0 4],["a" "b"],[5] [],[],[5] [2],["c"],[5])");
}

TEST_CASE("what is no sparse tensor, or not in order, can't be cut") {
  SparseTest t;
  const Tensor shape = Tensor::vector<int64_t>({4, 5});
  CHECK(t.refused(Tensor::of<int64_t>({2, 2}, {1, 0, 0, 0}), shape).code() == Code::unimplemented);
  CHECK(t.refused(Tensor::of<int64_t>({2, 1}, {0, 1}), shape)
            .message()
            .starts_with("Number of dimensions must match second dimension of indices."));
  CHECK(t.refused(Tensor::vector<int64_t>({0, 1}), shape)
            .message()
            .starts_with("Input indices must be a matrix."));
}

TEST_CASE("elements are rows of a sparse tensor, as large as is said or as the largest") {
  SparseTest t;
  const Tensor pairs =
      t.made.derive("BatchDatasetV2", {t.made.range(3), number(2), Tensor::scalar(false)});
  for (const char* op : {"DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset"}) {
    const Tensor loose = t.made.iterator(t.batches(op, pairs, {-1}), {DType::variant});
    CHECK(t.next(loose) == "[0 0 0 1 1 0] [0 1 2] [2 2]");
    CHECK(t.next(loose) == "OUT_OF_RANGE: End of sequence");
  }
  const Tensor wide =
      t.made.iterator(t.batches("DenseToSparseBatchDataset", pairs, {4}), {DType::variant});
  CHECK(t.next(wide) == "[0 0 0 1 1 0] [0 1 2] [2 4]");
  const Tensor narrow =
      t.made.iterator(t.batches("DenseToSparseBatchDataset", pairs, {1}), {DType::variant});
  CHECK(t.next(narrow).starts_with("DATA_LOSS: Input element had shape ([2])"));
  const Tensor flat =
      t.made.iterator(t.batches("DenseToSparseBatchDataset", pairs, {}), {DType::variant});
  CHECK(t.next(flat).starts_with("INVALID_ARGUMENT: Input element had shape ([2])"));
}

}  // namespace
}  // namespace millrace::data

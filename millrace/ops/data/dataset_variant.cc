#include "millrace/ops/data/dataset_variant.h"

#include <algorithm>
#include <utility>

namespace millrace::data {
namespace {

constexpr std::string_view kDatasetType = "tensorflow::data::Dataset";

class DatasetBuffer final : public Buffer {
 public:
  DatasetBuffer(DatasetPtr held, int how_deep)
      : Buffer(&byte_, 1), dataset(std::move(held)), depth(how_deep) {}
  const DatasetPtr dataset;
  const int depth;

 private:
  char byte_ = 0;
};

const DatasetBuffer* buffer_of(const Tensor& byte) {
  return dynamic_cast<const DatasetBuffer*>(byte.buffer().get());
}

}  // namespace

Tensor to_variant(DatasetPtr dataset, int depth) {
  auto buffer = std::make_shared<DatasetBuffer>(std::move(dataset), depth);
  Variant made{std::string(kDatasetType), {}, {}};
  made.tensors.push_back(Tensor::on_buffer(DType::u8, Shape(), std::move(buffer)).value());
  return Tensor::scalar(std::move(made));
}

Result<DatasetPtr> dataset_in(const Tensor& variant) {
  if (variant.dtype() != DType::variant || variant.shape().rank() != 0)
    return invalid("Dataset tensor must be a scalar of dtype DT_VARIANT.");
  const Variant& held = variant.item<Variant>();
  if (held.type_name != kDatasetType || held.tensors.size() != 1)
    return invalid("Tensor must be a Dataset object.");
  const DatasetBuffer* buffer = buffer_of(held.tensors[0]);
  if (buffer == nullptr)
    return invalid(
        "a dataset can't be read on another task than the one that made it: place the iterator and "
        "its dataset on one device");
  return buffer->dataset;
}

int depth_in(const Tensor& tensor) {
  if (tensor.dtype() != DType::variant) return 0;
  int depth = 0;
  for (const Variant& variant : tensor.flat<Variant>()) {
    for (const Tensor& held : variant.tensors) {
      const DatasetBuffer* buffer = buffer_of(held);
      depth = std::max(depth, buffer != nullptr ? buffer->depth : depth_in(held));
    }
  }
  return depth;
}

}  // namespace millrace::data

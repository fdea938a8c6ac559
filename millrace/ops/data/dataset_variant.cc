#include "millrace/ops/data/dataset_variant.h"

#include <utility>

namespace millrace::data {
namespace {

constexpr std::string_view kDatasetType = "tensorflow::data::Dataset";

class DatasetBuffer final : public Buffer {
 public:
  explicit DatasetBuffer(DatasetPtr held) : Buffer(&byte_, 1), dataset(std::move(held)) {}
  const DatasetPtr dataset;

 private:
  char byte_ = 0;
};

}  // namespace

Tensor to_variant(DatasetPtr dataset) {
  auto buffer = std::make_shared<DatasetBuffer>(std::move(dataset));
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
  const auto* buffer = dynamic_cast<const DatasetBuffer*>(held.tensors[0].buffer().get());
  if (buffer == nullptr)
    return invalid(
        "a dataset can't be read on another task than the one that made it: place the iterator and "
        "its dataset on one device");
  return buffer->dataset;
}

}  // namespace millrace::data

#include "millrace/ops/nn/channel_rows.h"

#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

// [batch, a, b] as [batch, b, a].
Result<Tensor> swapped(const Tensor& tensor, const std::array<int64_t, 3>& sizes,
                       CancelProbe probe) {
  const auto [batch, a, b] = sizes;
  const std::array<int64_t, 3> strides = {a * b, 1, b};
  return copied_box(Shape{batch, b, a}, tensor, {0, strides}, probe);
}

}  // namespace

Result<Normalising> normalising(const AttrView& attrs) {
  Normalising made;
  MR_ASSIGN(made.epsilon, attrs.real("epsilon"));
  MR_ASSIGN(const std::string format, attrs.string("data_format"));
  made.channels_first = format.starts_with("NC");
  MR_ASSIGN(made.training, attrs.boolean("is_training"));
  if (attrs.find("exponential_avg_factor") != nullptr) {
    MR_ASSIGN(made.factor, attrs.real("exponential_avg_factor"));
  }
  return made;
}

Result<Rows> rows_of(const Tensor& images, const Normalising& how, CancelProbe probe) {
  const Shape& shape = images.shape();
  Rows made{.channels = shape.dim(how.channels(shape.rank()))};
  made.rows = made.channels == 0 ? 0 : shape.num_elements() / made.channels;
  MR_ASSIGN(made.values, widened(images, probe));
  if (how.channels_first && made.rows > 0) {
    const int64_t batch = shape.dim(0);
    MR_ASSIGN(made.values, swapped(made.values, {batch, made.channels, made.rows / batch}, probe));
  }
  return made;
}

Result<Tensor> as_images(Tensor rows, int64_t channels, const Normalising& how,
                         const Tensor& images, CancelProbe probe) {
  if (how.channels_first && rows.num_elements() > 0) {
    const int64_t batch = images.shape().dim(0);
    MR_ASSIGN(rows,
              swapped(rows, {batch, rows.num_elements() / batch / channels, channels}, probe));
  }
  MR_ASSIGN(rows, narrowed(rows, images.dtype(), probe));
  return rows.reshaped(images.shape());
}

}  // namespace millrace

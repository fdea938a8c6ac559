// Between elements and batches: rows of tensors into elements, elements stacked into tensors.
#pragma once

#include <string>
#include <vector>

#include "millrace/ops/state/queue_core.h"

namespace millrace {

struct QueueSpec;

// One element per row of the outermost axis; the rows share the buffers of `components`.
// Errors: INVALID_ARGUMENT if a component is a scalar or their numbers of rows differ.
Result<QueueBatch> split_rows(const QueueElement& components);

// How elements of a queue are stacked.
class BatchRule {
 public:
  BatchRule(std::string kind, std::vector<DType> types, std::vector<PartialShape> shapes, bool pads)
      : kind_(std::move(kind)), types_(std::move(types)), shapes_(std::move(shapes)), pads_(pads) {}

  // Errors: INVALID_ARGUMENT if elements may differ in shape and are not to be padded.
  Status check() const;
  // One tensor per component, [batch size] + the component's shape. Where shapes vary each axis is
  // as long as the longest, filled up with zeros or empty strings.
  Result<QueueElement> stack(const QueueBatch& batch) const;

 private:
  Result<Tensor> stack_component(const QueueBatch& batch, size_t component) const;
  Result<Shape> common_shape(const QueueBatch& batch, size_t component) const;

  std::string kind_;
  std::vector<DType> types_;
  std::vector<PartialShape> shapes_;
  bool pads_;
};

BatchRule batch_rule(const QueueSpec& spec);

}  // namespace millrace

// The gradients of the ops of this room. Each stands in the `.grad` of its op. Only values have
// one; places and shapes have none.
#pragma once

#include "millrace/op/gradient.h"

namespace millrace::grad {

Status sparse_reorder(GradContext& g);
Status sparse_slice(GradContext& g);
Status sparse_matmul(GradContext& g);
Status sparse_fill_rows(GradContext& g);
Status sparse_fill_rows_grad(GradContext& g);
Status sparse_add(GradContext& g);
Status sparse_dense_add(GradContext& g);
Status sparse_cellwise_add(GradContext& g);
Status sparse_cellwise_mul(GradContext& g);
Status sparse_cellwise_div(GradContext& g);
Status sparse_reduce_sum(GradContext& g);
Status sparse_softmax(GradContext& g);

}  // namespace millrace::grad

// The gradients of the ops of this room. Each stands in the `.grad` of its op.
#pragma once

#include "millrace/op/gradient.h"

namespace millrace::grad {

// What arrives at each output goes on to the input of the same slot, slices as slices.
Status pass(GradContext& g);
Status prevented(GradContext& g);

// The same elements under another shape: Reshape, ExpandDims, Squeeze.
Status reshaped(GradContext& g);
Status transpose(GradContext& g);
Status conjugate_transpose(GradContext& g);
Status reverse(GradContext& g);
Status tile(GradContext& g);
Status pad(GradContext& g);
Status broadcast_to(GradContext& g);

Status fill(GradContext& g);

Status slice(GradContext& g);
Status strided_slice(GradContext& g);
Status strided_slice_grad(GradContext& g);

Status concat(GradContext& g);
Status concat_v2(GradContext& g);
Status split(GradContext& g);
Status split_v(GradContext& g);
Status pack(GradContext& g);
Status unpack(GradContext& g);

Status gather(GradContext& g);
Status gather_v2(GradContext& g);

Status gather_nd(GradContext& g);
Status scatter_nd(GradContext& g);
Status tensor_scatter_update(GradContext& g);
Status tensor_scatter_add(GradContext& g);
Status tensor_scatter_sub(GradContext& g);
Status tensor_scatter_extreme(GradContext& g);
Status sparse_to_dense(GradContext& g);
Status dynamic_partition(GradContext& g);
Status dynamic_stitch(GradContext& g);

Status diag(GradContext& g);
Status diag_part(GradContext& g);
Status matrix_diag(GradContext& g);
Status matrix_diag_part(GradContext& g);
Status matrix_set_diag(GradContext& g);
Status matrix_band_part(GradContext& g);

Status space_to_batch(GradContext& g);
Status batch_to_space(GradContext& g);
Status space_to_batch_nd(GradContext& g);
Status batch_to_space_nd(GradContext& g);
Status space_to_depth(GradContext& g);
Status depth_to_space(GradContext& g);

Status mirror_pad(GradContext& g);
Status mirror_pad_grad(GradContext& g);
Status reverse_sequence(GradContext& g);
Status roll(GradContext& g);
Status extract_patches(GradContext& g);

Status tensor_strided_slice_update(GradContext& g);

}  // namespace millrace::grad

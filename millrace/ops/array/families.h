// The families of ops in this room: values, their shapes and their arrangement.
//
// A family is a source file with its ops as values; register_array adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_array(OpRegistry& ops);

// Values that come from nowhere or pass unchanged: Const, the placeholders, Identity and its kin.
Status register_identity(OpRegistry& ops);

// Asking for a tensor's shape and giving it another: Shape, Size, Rank, Reshape, ExpandDims,
// Squeeze.
Status register_shapes(OpRegistry& ops);

// Ops that work out shapes: what two shapes broadcast to, and along which axes a gradient is summed
// to undo that; where the pieces of a concatenation begin.
Status register_broadcasts(OpRegistry& ops);

// Tensors that are made up: Fill, ZerosLike, OnesLike, Range, LinSpace, OneHot.
Status register_fills(OpRegistry& ops);

// Taking a box out of a tensor: Slice and StridedSlice.
Status register_slices(OpRegistry& ops);

// Putting tensors together and taking them apart along an axis: Concat, Pack, Split, Unpack.
Status register_joins(OpRegistry& ops);

// The same elements in another arrangement: Transpose, Tile, Pad, BroadcastTo, ReverseV2.
Status register_layout(OpRegistry& ops);

// Picking rows by index: Gather, GatherV2.
Status register_gathers(OpRegistry& ops);

// Slices that rows of indices name: GatherNd, ScatterNd, TensorScatterUpdate and its kin,
// SparseToDense.
Status register_nd(OpRegistry& ops);

// Each element once: Unique, UniqueWithCounts and their second versions, ListDiff.
Status register_uniques(OpRegistry& ops);

// Dealing rows out and putting them together: DynamicPartition, DynamicStitch.
Status register_partitions(OpRegistry& ops);

// Diagonals of tensors whose axes are the same twice: Diag, DiagPart.
Status register_tensor_diagonals(OpRegistry& ops);

// Diagonals of matrices: MatrixDiag, MatrixDiagPart, MatrixSetDiag in all their versions,
// MatrixBandPart.
Status register_diagonals(OpRegistry& ops);

// Blocks to batches and back: SpaceToBatch, SpaceToBatchND, BatchToSpace, BatchToSpaceND.
Status register_blocks(OpRegistry& ops);

// Blocks to channels and back: SpaceToDepth, DepthToSpace.
Status register_depths(OpRegistry& ops);

// Elements in another place: Roll, ReverseSequence, MirrorPad, MirrorPadGrad.
Status register_moves(OpRegistry& ops);

// Rows changed in the tensor that holds them: InplaceUpdate, InplaceAdd, InplaceSub; and tensors
// that are made to be changed: Empty, DeepCopy, ParallelConcat.
Status register_inplace(OpRegistry& ops);

// Places in sorted rows: LowerBound, UpperBound.
Status register_searches(OpRegistry& ops);

// ExtractImagePatches.
Status register_patches(OpRegistry& ops);

// Beams of a search put together from their steps: GatherTree.
Status register_beams(OpRegistry& ops);

}  // namespace millrace

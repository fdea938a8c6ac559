// The families of ops in this room: sparse tensors.
//
// A family is a source file with its ops as values; register_sparse adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_sparse(OpRegistry& ops);

// Where elements stand: SparseReorder, SparseReshape.
Status register_sparse_orders(OpRegistry& ops);

// Several into one, and one into several: SparseConcat, SparseSplit.
Status register_sparse_joins(OpRegistry& ops);

// SparseSlice and its gradient.
Status register_sparse_slices(OpRegistry& ops);

// A sparse matrix times a dense one: SparseTensorDenseMatMul.
Status register_sparse_products(OpRegistry& ops);

// Rows that have nothing: SparseFillEmptyRows, RaggedFillEmptyRows and their gradients.
Status register_sparse_empty_rows(OpRegistry& ops);

// Two sparse tensors, place by place: SparseAdd, its gradient, SparseSparseMaximum and -Minimum.
Status register_sparse_sums(OpRegistry& ops);

// A sparse tensor added to a dense one: SparseTensorDenseAdd.
Status register_sparse_dense_sums(OpRegistry& ops);

// The elements of a sparse tensor with those of a dense one: SparseDenseCwiseAdd, -Mul, -Div.
Status register_sparse_cellwise(OpRegistry& ops);

// Folding axes: SparseReduceSum, SparseReduceMax, both with sparse results; SparseSoftmax.
Status register_sparse_reductions(OpRegistry& ops);

// How often each number comes: SparseBincount, SparseCountSparseOutput.
Status register_sparse_counts(OpRegistry& ops);

// As bytes or in variants, and back: SerializeSparse, SerializeManySparse, DeserializeSparse,
// DeserializeManySparse.
Status register_sparse_serialized(OpRegistry& ops);

// Kept from one step to another: AddSparseToTensorsMap, AddManySparseToTensorsMap,
// TakeManySparseFromTensorsMap.
Status register_sparse_tensors_maps(OpRegistry& ops);

// How far sequences are from each other: EditDistance.
Status register_edit_distances(OpRegistry& ops);

// Combinations of features: SparseCross, SparseCrossV2, SparseCrossHashed.
Status register_sparse_crosses(OpRegistry& ops);

// Rows as sets: DenseToDenseSetOperation, DenseToSparse..., SparseToSparse..., SetSize.
Status register_sets(OpRegistry& ops);

}  // namespace millrace

// The families of ops in this room: datasets and their iterators.
//
// A family is a source file with its ops as values; register_data adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_data(OpRegistry& ops);

namespace data {

// TensorDataset, TensorSliceDataset, RangeDataset.
Status register_dataset_sources(OpRegistry& ops);
// Take, Skip, Repeat, Concatenate, Zip, Shard: which elements, in which order.
Status register_dataset_selections(OpRegistry& ops);
// Batch, PaddedBatch.
Status register_dataset_batches(OpRegistry& ops);
// Unbatch, Window.
Status register_dataset_windows(OpRegistry& ops);
// Shuffle and ShuffleAndRepeat.
Status register_dataset_shuffles(OpRegistry& ops);
// DummySeedGenerator, AnonymousSeedGenerator.
Status register_seed_generators(OpRegistry& ops);
// Prefetch.
Status register_dataset_prefetch(OpRegistry& ops);
// Map, Filter, TakeWhile, MapAndBatch: functions of elements.
Status register_dataset_maps(OpRegistry& ops);
// ParseExample: features of Examples.
Status register_dataset_parsed_examples(OpRegistry& ops);
// FlatMap, Interleave and ParallelInterleave: functions that give datasets.
Status register_dataset_flat_maps(OpRegistry& ops);
// TextLine, TFRecord, FixedLengthRecord: records of files.
Status register_dataset_files(OpRegistry& ops);
// CSV: rows of files.
Status register_dataset_csv_files(OpRegistry& ops);
// Scan, GroupByWindow.
Status register_dataset_scans(OpRegistry& ops);
// ReduceDataset, GetElementAtIndex, DatasetToSingleElement.
Status register_dataset_reductions(OpRegistry& ops);
// Generator, Random.
Status register_dataset_generators(OpRegistry& ops);
// Cache, in memory and in files.
Status register_dataset_caches(OpRegistry& ops);
// Options and others that are their input; IgnoreErrors, Unique; what a dataset says of itself.
Status register_dataset_pass_ons(OpRegistry& ops);
// DirectedInterleave: elements of several datasets, as another one says.
Status register_dataset_choices(OpRegistry& ops);
// Rebatch.
Status register_dataset_rebatches(OpRegistry& ops);
// AssertCardinality.
Status register_dataset_counts(OpRegistry& ops);
// AutoShard: what one of several workers takes.
Status register_dataset_auto_shards(OpRegistry& ops);
// GroupByReducer.
Status register_dataset_group_reducers(OpRegistry& ops);
// MatchingFiles: names by patterns.
Status register_dataset_matching_files(OpRegistry& ops);
// Sleep.
Status register_dataset_sleeps(OpRegistry& ops);
// SparseTensorSlice, DenseToSparseBatch.
Status register_dataset_sparse_elements(OpRegistry& ops);
// CompressElement, UncompressElement.
Status register_compressed_elements(OpRegistry& ops);
// InitializeTableFromDataset.
Status register_table_fillers(OpRegistry& ops);
// SerializeIterator, DeserializeIterator.
Status register_kept_walks(OpRegistry& ops);
// Iterator, MakeIterator, IteratorGetNext and their kin.
Status register_iterators(OpRegistry& ops);

}  // namespace data
}  // namespace millrace

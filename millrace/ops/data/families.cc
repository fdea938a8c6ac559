#include "millrace/ops/data/families.h"

namespace millrace {

Status register_data(OpRegistry& ops) {
  MR_TRY(data::register_dataset_sources(ops));
  MR_TRY(data::register_dataset_selections(ops));
  MR_TRY(data::register_dataset_batches(ops));
  MR_TRY(data::register_dataset_windows(ops));
  MR_TRY(data::register_dataset_shuffles(ops));
  MR_TRY(data::register_seed_generators(ops));
  MR_TRY(data::register_dataset_prefetch(ops));
  MR_TRY(data::register_dataset_maps(ops));
  MR_TRY(data::register_dataset_parsed_examples(ops));
  MR_TRY(data::register_dataset_flat_maps(ops));
  MR_TRY(data::register_dataset_files(ops));
  MR_TRY(data::register_dataset_csv_files(ops));
  MR_TRY(data::register_dataset_generators(ops));
  MR_TRY(data::register_dataset_caches(ops));
  MR_TRY(data::register_dataset_pass_ons(ops));
  MR_TRY(data::register_dataset_scans(ops));
  MR_TRY(data::register_dataset_reductions(ops));
  MR_TRY(data::register_dataset_choices(ops));
  MR_TRY(data::register_dataset_rebatches(ops));
  MR_TRY(data::register_dataset_sparse_elements(ops));
  MR_TRY(data::register_dataset_sleeps(ops));
  MR_TRY(data::register_dataset_matching_files(ops));
  MR_TRY(data::register_dataset_group_reducers(ops));
  MR_TRY(data::register_dataset_auto_shards(ops));
  MR_TRY(data::register_dataset_counts(ops));
  MR_TRY(data::register_compressed_elements(ops));
  MR_TRY(data::register_table_fillers(ops));
  MR_TRY(data::register_kept_walks(ops));
  return data::register_iterators(ops);
}

}  // namespace millrace

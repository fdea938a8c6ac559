// Part of families.h: register_dataset_auto_shards.
//
// TensorFlow rewrites the graph that makes the dataset, so that each worker reads files of its own.
// Here a dataset is no graph, and a reader deep inside can't be given other files: workers read all
// files, and take elements by turns.
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/shards.h"

namespace millrace::data {
namespace {

// As in TensorFlow's AutoShardPolicy.
constexpr int64_t kShardOff = -1, kShardAuto = 0, kShardFile = 1, kShardData = 2, kShardHint = 3;

Result<DatasetPtr> make_auto_shard(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(const int64_t workers, inputs.scalar<int64_t>(1, "num_workers"));
  MR_ASSIGN(const int64_t index, inputs.scalar<int64_t>(2, "index"));
  MR_ASSIGN(const int64_t policy, inputs.attrs().integer("auto_shard_policy"));
  if (workers < 1) return invalid("num_workers must be greater than zero.");
  if (index < 0 || index >= workers)
    return invalid("index must be between 0 and ", workers - 1, ", not ", index);
  switch (policy) {
    case kShardOff:
      return input;
    case kShardAuto:
    case kShardData:
      return workers == 1 ? input : sharded(std::move(input), workers, index);
    case kShardFile:
    case kShardHint:
      if (workers == 1) return input;
      return unimplemented("auto_shard_policy ", policy == kShardFile ? "FILE" : "HINT",
                           ": a dataset's files are not parted among workers here; ask for DATA, "
                           "or shard the names of files with ShardDataset");
    default:
      return invalid("auto_shard_policy must be from -1 to 3, not ", policy);
  }
}

}  // namespace

Status register_dataset_auto_shards(OpRegistry& ops) {
  const std::string doc =
      "The elements of a dataset that worker `index` of num_workers takes: every num_workers-th. "
      "All workers must run here: TensorFlow's part files where they can.";
  const std::string inputs = "input_dataset: variant, num_workers: int64, index: int64";
  const std::string attrs = std::string("auto_shard_policy: int = 0, ") + kOutputs;
  MR_TRY(ops.add(dataset_op("AutoShardDataset", doc, inputs, attrs + ", num_replicas: int = 0",
                            make_auto_shard)));
  return ops.add(dataset_op("ExperimentalAutoShardDataset", doc, inputs, attrs, make_auto_shard));
}

}  // namespace millrace::data

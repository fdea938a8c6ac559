// What a checkpoint is to hold, until it is written: tensors, in the order in which they were
// added. They are cut into shards by their bytes, and each shard is written from its beginning to
// its end, by whoever does that. Private to bundle_writer.h.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/io/bundle.h"
#include "millrace/tensor/tensor.h"

namespace millrace::io {

// One tensor, whole or a slice; of variants the message of each.
struct BundleContent {
  std::variant<Tensor, std::vector<std::string>> held;
  BundleEntry* entry = nullptr;  // stays where it is; has type and shape
};

// Some tens of milliseconds of a fast disk: less is not worth a file of its own.
inline constexpr uint64_t kLeastShardBytes = 64 << 20;
// More threads than that write no faster to a disk, nor to the memory of a machine.
inline constexpr int64_t kMostShards = 4;

// Cuts the contents into shards: as many as there are multiples of `least_bytes` (>= 1) in them,
// from 1 to kMostShards, each with about as many bytes as the others. What has no bytes is with its
// neighbours; a tensor is never cut. Follows from sizes alone, never from the machine.
std::vector<std::span<const BundleContent>> cut_into_shards(std::span<const BundleContent> contents,
                                                            uint64_t least_bytes);

// Writes one shard to `file`, and into its entries where the bytes are and their checksums. Nobody
// else may write or read these entries meanwhile. Errors: what the disk says.
Status write_shard(std::span<const BundleContent> contents, int shard, WritableFile& file);

}  // namespace millrace::io

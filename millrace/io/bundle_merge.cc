#include "millrace/io/bundle_merge.h"

#include <map>
#include <memory>

#include "millrace/io/bundle_place.h"
#include "millrace/io/bundle_reader.h"
#include "millrace/io/bundle_writer.h"
#include "millrace/io/paths.h"

namespace millrace::io {
namespace {

// Entries of one more checkpoint, whose shards are counted from `first_shard`.
Status gather(const BundleReader& reader, int first_shard,
              std::map<std::string, BundleEntry>* all) {
  return reader.each([&](std::string_view key, const BundleEntry& read) -> Status {
    MR_TRY(reader.check_shard(read.shard));
    BundleEntry entry = read;
    entry.shard += first_shard;
    const auto [there, is_new] = all->try_emplace(std::string(key), entry);
    if (is_new) return {};
    BundleEntry& known = there->second;
    const bool are_slices = !known.slices.empty() && !entry.slices.empty();
    if (!are_slices || known.dtype != entry.dtype || known.shape != entry.shape) {
      return invalid("'", key, "' is in ", reader.prefix(),
                     " and in a checkpoint before it; only slices of one tensor can be merged");
    }
    known.slices.insert(known.slices.end(), entry.slices.begin(), entry.slices.end());
    return {};
  });
}

}  // namespace

Status merge_bundles(Files& files, const std::vector<std::string>& prefixes,
                     const std::string& destination, Random& random) {
  if (prefixes.empty()) return invalid("there are no checkpoints to merge into ", destination);
  std::map<std::string, BundleEntry> entries;
  std::vector<std::string> data;
  for (const std::string& prefix : prefixes) {
    MR_ASSIGN(const std::unique_ptr<BundleReader> reader, BundleReader::open(files, prefix));
    const auto first_shard = static_cast<int>(data.size());
    const int shards = reader->header().num_shards;
    for (int shard = 0; shard < shards; ++shard) {
      data.push_back(data_path(prefix, shard, shards));
      // A shard that is missing is told before anything moves.
      MR_TRY(files.facts(data.back()).status());
    }
    // Only now: the numbers of shards whose files are there can be added up.
    MR_TRY(gather(*reader, first_shard, &entries));
  }
  MR_TRY(make_directory_of(files, destination));
  MR_ASSIGN(const int count, shards_for(files, destination, static_cast<int>(data.size())));
  const std::string index = str_cat(index_path(destination), ".tempstate", random.next());
  Status written = write_bundle_index(files, index, count, entries);
  if (!written.ok()) {
    static_cast<void>(files.remove(index));
    return written;
  }
  MR_TRY(put_in_place(files, data, index, count, destination, random));
  for (const std::string& prefix : prefixes)
    if (prefix != destination) MR_TRY(files.remove(index_path(prefix)));
  return {};
}

}  // namespace millrace::io

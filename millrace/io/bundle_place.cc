#include "millrace/io/bundle_place.h"

#include <memory>

#include "millrace/base/share_out.h"
#include "millrace/io/bundle_reader.h"

namespace millrace::io {
namespace {

// 0 if there is no checkpoint, or one that nobody can read. One that can't be asked for now may be
// whole: nothing may take its names.
Result<int> shards_in_place(Files& files, const std::string& prefix) {
  const auto opened = BundleReader::open(files, prefix);
  if (opened.ok()) return (*opened)->header().num_shards;
  const Code code = opened.status().code();
  if (code == Code::unavailable || code == Code::cancelled) return opened.status();
  return 0;
}

Status make_empty(Files& files, const std::string& path, Random& random) {
  const std::string unfinished = str_cat(path, ".tempstate", random.next());
  MR_ASSIGN(const std::unique_ptr<WritableFile> file, files.create(unfinished));
  MR_TRY(file->sync());
  MR_TRY(file->close());
  return files.rename(unfinished, path);
}

}  // namespace

Result<int> shards_for(Files& files, const std::string& prefix, int wanted) {
  MR_ASSIGN(const int there, shards_in_place(files, prefix));
  return there == wanted ? wanted + 1 : wanted;
}

Status put_in_place(Files& files, const std::vector<std::string>& data, const std::string& index,
                    int count, const std::string& prefix, Random& random, Runner* others) {
  MR_ASSIGN(const int before, shards_in_place(files, prefix));
  const auto given = static_cast<int>(data.size());
  for (int shard = 0; shard < given; ++shard)
    MR_TRY(files.rename(data[static_cast<size_t>(shard)], data_path(prefix, shard, count)));
  for (int shard = given; shard < count; ++shard)
    MR_TRY(make_empty(files, data_path(prefix, shard, count), random));
  MR_TRY(files.rename(index, index_path(prefix)));
  // The new checkpoint is there: what can't be removed only takes room. A damaged index may have
  // told of any number of files: the first that is not there was the last.
  if (before != count) {
    static_cast<void>(share_out(others, before, [&](int64_t shard) {
      return files.remove(data_path(prefix, static_cast<int>(shard), before));
    }));
  }
  return {};
}

}  // namespace millrace::io

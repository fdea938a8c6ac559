#include "millrace/ops/readers/record_source.h"

#include <algorithm>
#include <cmath>

#include "millrace/base/hash.h"
#include "millrace/base/str_cat.h"
#include "millrace/io/glob.h"

namespace millrace {
namespace {

// More files than this are not open at once, whatever is asked for.
constexpr size_t kMostOpen = 64;

// Of numbers that are the same on every machine: std::shuffle's are not.
void shuffle(std::vector<std::string>& paths, std::mt19937_64& draws) {
  for (size_t left = paths.size(); left > 1; --left)
    std::swap(paths[left - 1], paths[draws() % left]);
}

}  // namespace

Status RecordSourceSpec::check() const {
  if (seed < 0) return invalid("file_random_seed must be at least 0, not ", seed);
  if (!(shift >= 0 && shift < 1))
    return invalid("file_shuffle_shift_ratio must be from 0 to below 1, not ", shift);
  if (buffer < 1) return invalid("file_buffer_size must be at least 1, not ", buffer);
  if (open_files < 1) return invalid("file_parallelism must be at least 1, not ", open_files);
  return {};
}

Status RecordSource::begin_epoch(Files& files) {
  MR_ASSIGN(std::vector<std::string> paths, io::find_matching(files, spec_.pattern));
  if (paths.empty()) return not_found("Found no files at ", spec_.pattern);
  draws_.seed(combine64(static_cast<uint64_t>(spec_.seed), static_cast<uint64_t>(epoch_)));
  ++epoch_;
  shuffle(paths, draws_);
  const auto turn = static_cast<size_t>(std::floor(spec_.shift * static_cast<float>(paths.size())));
  const auto first = static_cast<ptrdiff_t>(std::min(turn, paths.size() - 1));
  std::rotate(paths.begin(), paths.begin() + first, paths.end());
  paths_.assign(paths.begin(), paths.end());
  return {};
}

// Reads until the buffer is full or the epoch's files are at their ends.
Status RecordSource::fill(Files& files) {
  const size_t most_open = std::min(static_cast<size_t>(spec_.open_files), kMostOpen);
  while (buffer_.size() < static_cast<size_t>(spec_.buffer)) {
    if (open_.size() < most_open && !paths_.empty()) {
      const std::string path = paths_.front();
      paths_.pop_front();
      MR_ASSIGN(auto file, files.open(path));
      open_.push_back(
          {path, std::make_unique<io::RecordReader>(io::bytes_of(std::move(file), spec_.packing))});
      continue;
    }
    if (open_.empty()) return {};
    Open current = std::move(open_.front());
    open_.pop_front();
    std::string record;
    MR_ASSIGN(const bool has_record, current.reader->next(&record).with(current.path));
    if (!has_record) continue;
    buffer_.push_back(std::move(record));
    open_.push_back(std::move(current));
  }
  return {};
}

Result<std::string> RecordSource::next(Files& files) {
  MR_TRY(fill(files));
  if (buffer_.empty()) {
    MR_TRY(begin_epoch(files));
    MR_TRY(fill(files));
    if (buffer_.empty())
      return invalid("the files that ", spec_.pattern, " stands for hold no records");
  }
  std::string& drawn = buffer_[draws_() % buffer_.size()];
  std::string record = std::move(drawn);
  drawn = std::move(buffer_.back());
  buffer_.pop_back();
  return record;
}

}  // namespace millrace

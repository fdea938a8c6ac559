// Tables: sorted keys and values in one file, in LevelDB's table format, which the indices of
// checkpoints are. LevelDB's own table classes do the work, over our files; none of its types show.
//
// Errors: DATA_LOSS for a file that is no table or whose checksums are wrong, what Files says, and
// INVALID_ARGUMENT for keys out of order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/files.h"

namespace millrace::io {

// One thread.
class TableWriter {
 public:
  // Writes to `file`, which it does not close. `file` outlives it.
  explicit TableWriter(WritableFile& file);
  ~TableWriter();

  // Keys must come in rising order of their bytes.
  Status add(std::string_view key, std::string_view value);
  // Writes what is left. Nothing may be added afterwards.
  Status finish();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string last_key_;
  bool is_first_ = true;
};

// Any thread may read, several at once.
class Table {
 public:
  // `path` is for errors.
  static Result<std::unique_ptr<Table>> open(std::unique_ptr<ReadableFile> file,
                                             const std::string& path);
  ~Table();

  // The value of `key`; none if it is not there.
  Result<std::optional<std::string>> find(std::string_view key) const;
  // `see(key, value)` of all, in order, until it fails.
  Status each(const std::function<Status(std::string_view key, std::string_view value)>& see) const;

 private:
  struct Parts;
  explicit Table(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::io

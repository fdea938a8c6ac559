// Part of families.h: register_dataset_matching_files, names of files by patterns.
#include <utility>

#include "millrace/io/glob.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/file_records.h"

namespace millrace::data {
namespace {

// The files that a pattern stands for, as the records of a piece of work.
class Names final : public WorkReader {
 public:
  Names(Files& files, std::vector<std::string> paths) : files_(files), paths_(std::move(paths)) {}
  Result<Found> next(std::string*, std::string* value) override {
    while (next_ < paths_.size()) {
      std::string& path = paths_[next_++];
      const auto facts = files_.facts(path);
      // It may be gone since.
      if (!facts.ok() || facts->is_directory) continue;
      *value = std::move(path);
      return Found::record;
    }
    return Found::end;
  }

 private:
  Files& files_;
  std::vector<std::string> paths_;
  size_t next_ = 0;
};

// Without a directory in front of its first wildcard TensorFlow looks in "./", and says so in
// names.
std::string with_directory(const std::string& pattern) {
  const size_t slash = pattern.find('/');
  return slash < pattern.find_first_of("*?[\\") ? pattern : "./" + pattern;
}

Result<std::unique_ptr<WorkReader>> open_names(Files& files, const std::string& pattern) {
  MR_ASSIGN(std::vector<std::string> paths, io::find_matching(files, with_directory(pattern)));
  return std::unique_ptr<WorkReader>(std::make_unique<Names>(files, std::move(paths)));
}

class Matching final : public DatasetIterator {
 public:
  explicit Matching(IteratorPtr names) : names_(std::move(names)) {}
  Result<Next> next(Pull& pull, Element* element) override {
    MR_ASSIGN(const Next next, names_->next(pull, element));
    if (next == Next::element) has_some_ = true;
    if (next == Next::end && !has_some_) return not_found("Don't find any matched files");
    return next;
  }

 private:
  const IteratorPtr names_;
  bool has_some_ = false;
};

class MatchingFilesDataset final : public Dataset {
 public:
  explicit MatchingFilesDataset(std::vector<std::string> patterns)
      : Dataset({{DType::string}, {PartialShape::scalar()}}), patterns_(std::move(patterns)) {}
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr names, records_of_files(*host, patterns_, open_names));
    return IteratorPtr(std::make_unique<Matching>(std::move(names)));
  }

 private:
  const std::vector<std::string> patterns_;
};

Result<DatasetPtr> make_matching(DatasetInputs& inputs) {
  const auto patterns = inputs.context().input(0).flat<std::string>();
  return DatasetPtr(std::make_shared<MatchingFilesDataset>(
      std::vector<std::string>(patterns.begin(), patterns.end())));
}

}  // namespace

Status register_dataset_matching_files(OpRegistry& ops) {
  for (const char* name : {"MatchingFilesDataset", "ExperimentalMatchingFilesDataset"}) {
    MR_TRY(ops.add(dataset_op(name,
                              "The names of files that match a pattern, sorted, and then those of "
                              "the next one; an error if there are none at all.",
                              "patterns: string", "", make_matching, Kind::source)));
  }
  return {};
}

}  // namespace millrace::data

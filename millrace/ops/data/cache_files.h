// CacheFiles: the elements of a dataset in files, which outlive their process.
//
// They lie as in TensorFlow: <name>.index and <name>.data-… are a checkpoint (io/bundle.h) with a
// tensor for each component of each element. It is there once a walk has come to its end, and whole
// then. Until then its parts are <name>_0, <name>_1 …, and <name>_0.lockfile says that somebody
// writes them. A walk that stops earlier takes both away. Private to this room.
//
// One thread at a time; all calls wait for the disk, and so does going out of scope.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/io/bundle_reader.h"
#include "millrace/op/resource.h"
#include "millrace/ops/data/dataset.h"

namespace millrace::data {

// Caches whose walks have ended and whose files are still to be taken away: who begins such a cache
// anew waits for that, and is not told that somebody writes it. One for each device. Thread-safe.
class LeftCaches final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "millrace::data::LeftCaches";
  static Result<std::shared_ptr<LeftCaches>> of(ResourceStore& resources);

  void leave(const std::string& name);
  void gone(const std::string& name);
  // Whether `name` was left and is not gone: then the waker is told.
  bool is_going(const std::string& name, const std::shared_ptr<Waker>& waker);

  std::string description() const override;

 private:
  struct Left {
    int count = 0;
    std::vector<std::shared_ptr<Waker>> waiting;
  };
  mutable Mutex mutex_;
  std::map<std::string, Left> left_ MR_GUARDED_BY(mutex_);
};

class CacheFiles {
 public:
  // More elements than these have no names in it.
  static constexpr int64_t kMostElements = 10'000'000;

  // `files` and `random` outlive this.
  CacheFiles(Files& files, Random& random, std::string name, Dataset::Components components,
             std::shared_ptr<LeftCaches> left);
  // Takes away what was written if that is no whole cache.
  ~CacheFiles();

  // This will go out of scope as soon as the disk is done with it. Any thread, once.
  void leave();

  // Looks whether the cache is there, and if not makes sure that nobody else writes it. May be
  // called again if it fails. Errors: ALREADY_EXISTS if somebody does, or left parts of it behind;
  // FAILED_PRECONDITION if there is a checkpoint that is no cache; INVALID_ARGUMENT if its elements
  // have other components; what the disk says.
  Status begin();
  bool is_there() const { return reader_ != nullptr; }

  // The next elements. Errors: what the disk says; UNIMPLEMENTED for resources. After an error
  // there is nothing more to write.
  Status write(const std::vector<Element>& elements);
  // These were all.
  Status finish();

  // Some of the elements that come next: none at the end.
  // Errors: DATA_LOSS for damaged files; INVALID_ARGUMENT as for begin().
  Status read(std::deque<Element>* elements);

 private:
  std::string key(int64_t element, size_t component) const;
  std::string part(size_t number) const;
  Status lock();
  Status check_that_nobody_writes(const std::string& lockfile);
  // What checkpoint lies there.
  Status check_reader(const io::BundleReader& reader) const;
  Result<Element> read_one() const;
  Result<Tensor> read_component(const std::string& key, size_t component) const;
  void discard();

  Files& files_;
  Random& random_;
  const std::string name_;
  const Dataset::Components components_;
  const std::shared_ptr<LeftCaches> left_;
  std::atomic<bool> is_left_{false};
  bool is_locked_ = false;  // by this
  size_t parts_ = 0;        // that were begun
  int64_t next_ = 0;        // element to write or to read
  std::unique_ptr<io::BundleReader> reader_;
};

// A walk along the elements of `input`, or along its cache in `name` once that is there.
// Errors: FAILED_PRECONDITION if the task has no files.
Result<IteratorPtr> walk_by_files(DatasetPtr input, const HostPtr& host, const std::string& name,
                                  std::shared_ptr<LeftCaches> left);

}  // namespace millrace::data

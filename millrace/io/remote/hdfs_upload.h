// HdfsUpload: a file of HDFS that is written: made by its first bytes, and continued. One thread.
//
// The file is there from the first flush on, or from 16 MiB on, and grows from then; others see
// what was flushed. To continue a file twice would double its end, so that is repeated only if the
// file is seen to be as long as before; a try that ends later still is DATA_LOSS, by the length
// that the file has then. Going out of scope closes it.
#pragma once

#include <optional>
#include <string>

#include "millrace/base/files.h"
#include "millrace/io/remote/hdfs_store.h"

namespace millrace::remote {

class HdfsUpload final : public WritableFile {
 public:
  // `length`: of the file that is continued; none: a new one is made, or an old one replaced.
  // `store` outlives it.
  HdfsUpload(const HdfsStore& store, HdfsPlace place, std::optional<uint64_t> length);
  ~HdfsUpload() override;

  Status append(std::string_view bytes) override;
  Status flush() override;
  // The DataNodes have it; whether their disks have, is the cluster's to say.
  Status sync() override { return flush(); }
  Status close() override;

 private:
  Status put();
  Status continue_file();
  // Whether the tail stands there once, after more than one try.
  Status continued_once() const;

  const HdfsStore& store_;
  const HdfsPlace place_;
  std::optional<uint64_t> length_;  // of the file; none: it is not made yet
  std::string tail_;                // not there yet
  bool is_closed_ = false;
  Status problem_;  // the first
};

// What there is. Errors: NOT_FOUND, and what the cluster says else.
Result<FileFacts> hdfs_facts(const HdfsStore& store, const HdfsPlace& place);

}  // namespace millrace::remote

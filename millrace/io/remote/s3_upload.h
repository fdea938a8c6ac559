// S3Upload: an object of S3 that is written, piece by piece.
//
// An object is there whole or not at all. What fits into one part is put by one request; more of it
// goes up in parts, which become the object in one moment, when it is flushed or closed. What is
// appended after a flush is another object of that name: the store makes its beginning of the one
// that is there, without sending it here and back. Memory: a part, which is 8 MiB, and a
// thousandth of what was written where that is more.
//
// One thread. Going out of scope closes it, unless something failed: then the parts are given up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/io/remote/s3_store.h"

namespace millrace::remote {

// An object that is there.
struct S3Object {
  uint64_t size = 0;
  std::string etag;
  int64_t changed_micros = 0;
};

class S3Upload final : public WritableFile {
 public:
  // `base`: the object of that name, which this one goes on from; none: it begins anew.
  // `beginning`: what else it begins with, fewer bytes than a part. `store` outlives it.
  S3Upload(const S3Store& store, S3Place place, std::optional<S3Object> base = std::nullopt,
           std::string beginning = "");
  ~S3Upload() override;

  Status append(std::string_view bytes) override;
  Status flush() override;
  Status sync() override { return flush(); }
  Status close() override;

  // Makes `to` of `from`, which is `object`, in the store; at once for whoever looks.
  static Status copy(const S3Store& store, const S3Place& from, const S3Object& object,
                     const S3Place& to);

  static constexpr size_t kPart = 8 << 20;

 private:
  Status append_all(std::string_view bytes);
  Status flush_all();
  Status begin();
  Status put_part();
  // Adds what `from` has as parts.
  Status take_over(const S3Place& from, const S3Object& object);
  Status complete();
  Status settle_unsure(const std::vector<std::string>& etags, const Status& said);
  void give_up();
  Status kept(Status status);

  const S3Store& store_;
  const S3Place place_;
  std::optional<S3Object> base_;  // its bytes come first, and are in no part yet
  std::string tail_;              // in no part yet
  std::string upload_;            // its id; empty if there is none
  std::vector<std::string> etags_;
  uint64_t num_sent_ = 0;  // bytes in parts
  bool is_flushed_ = false, is_closed_ = false;
  Status problem_;  // the first
};

// What there is at `place`. Errors: NOT_FOUND, and what the store says else.
Result<S3Object> look_at(const S3Store& store, const S3Place& place);

}  // namespace millrace::remote

// RemoteStores: all that is reached over a network, by the scheme of a path. Nothing is read,
// loaded or asked before a path names it.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/base/files.h"
#include "millrace/base/mutex.h"
#include "millrace/io/remote/curl_http.h"
#include "millrace/io/remote/hdfs_store.h"
#include "millrace/io/remote/http.h"
#include "millrace/io/remote/retries.h"
#include "millrace/io/remote/s3_store.h"

namespace millrace::remote {

// Thread-safe. `clock`, `random` and `local`, where credentials are read, outlive it; it outlives
// what it opens.
class RemoteStores {
 public:
  // `environment` tells who asks, and where (aws_settings.h, hdfs_settings.h), and:
  //   MILLRACE_REMOTE_SILENCE_MS  how long a server may be silent in one try; 30000
  //   MILLRACE_REMOTE_TRIES       how often something is asked; 5
  RemoteStores(Environment environment, Files& local, const Clock& clock, Random& random);
  ~RemoteStores();

  // Errors: UNIMPLEMENTED for a scheme that no store here has; those of the settings, until they
  // are mended. They are read once.
  Result<Files*> of(std::string_view scheme);

  // Whoever waits for a store is told CANCELLED, from now on.
  void stop();

 private:
  struct S3;
  struct Hdfs;
  HttpTerms http_terms() const;
  RetryTerms retry_terms() const;
  Result<Files*> s3() MR_REQUIRES(mutex_);
  Result<Files*> hdfs() MR_REQUIRES(mutex_);

  const Environment environment_;
  Files& local_;
  const Clock& clock_;
  Random& random_;
  Mutex mutex_;
  bool is_stopped_ MR_GUARDED_BY(mutex_) = false;
  std::unique_ptr<S3> s3_ MR_GUARDED_BY(mutex_);
  std::unique_ptr<Hdfs> hdfs_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::remote

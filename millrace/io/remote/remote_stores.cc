#include "millrace/io/remote/remote_stores.h"

#include <utility>

#include "absl/strings/numbers.h"

#include "millrace/io/remote/aws_settings.h"
#include "millrace/io/remote/hdfs_files.h"
#include "millrace/io/remote/hdfs_settings.h"
#include "millrace/io/remote/s3_files.h"
#include "millrace/io/remote/url.h"

namespace millrace::remote {
namespace {

constexpr int64_t kLongestSilence = 3'600'000;  // milliseconds
constexpr int64_t kMostTries = 100;

// The value of a variable if it is a number from 1 to `most`, else `usual`.
int64_t number_of(const Environment& environment, const char* name, int64_t usual, int64_t most) {
  int64_t number = 0;
  const std::string said = environment(name).value_or("");
  return absl::SimpleAtoi(said, &number) && number >= 1 && number <= most ? number : usual;
}

}  // namespace

struct RemoteStores::S3 {
  S3(AwsSettings settings, HttpTerms terms, const Clock& clock, Random& random, RetryTerms retry)
      : http(std::move(terms)),
        retries(clock, random, retry),
        store(std::move(settings), http, retries, clock),
        files(store) {}
  CurlHttp http;
  Retries retries;
  const S3Store store;
  S3Files files;
};

struct RemoteStores::Hdfs {
  Hdfs(HdfsSettings settings, HttpTerms terms, const Clock& clock, Random& random, RetryTerms retry)
      : http(std::move(terms)),
        retries(clock, random, retry),
        store(std::move(settings), http, retries),
        files(store) {}
  CurlHttp http;
  Retries retries;
  const HdfsStore store;
  HdfsFiles files;
};

RemoteStores::RemoteStores(Environment environment, Files& local, const Clock& clock,
                           Random& random)
    : environment_(std::move(environment)), local_(local), clock_(clock), random_(random) {}

RemoteStores::~RemoteStores() = default;

HttpTerms RemoteStores::http_terms() const {
  HttpTerms terms;
  terms.silence = std::chrono::milliseconds(number_of(environment_, "MILLRACE_REMOTE_SILENCE_MS",
                                                      terms.silence.count(), kLongestSilence));
  terms.connect = std::min(terms.connect, terms.silence);
  return terms;
}

RetryTerms RemoteStores::retry_terms() const {
  RetryTerms terms;
  terms.tries =
      static_cast<int>(number_of(environment_, "MILLRACE_REMOTE_TRIES", terms.tries, kMostTries));
  return terms;
}

Result<Files*> RemoteStores::of(std::string_view scheme) {
  MutexLock lock(mutex_);
  if (is_stopped_) return cancelled("the program that asks is ending");
  if (scheme == "s3") return s3();
  if (scheme == "hdfs" || scheme == "webhdfs" || scheme == "swebhdfs") return hdfs();
  return unimplemented("no kind of files is called '", shown_text(scheme),
                       "://'; there are s3://, hdfs://, webhdfs://, swebhdfs:// and file://");
}

Result<Files*> RemoteStores::s3() {
  if (s3_ == nullptr) {
    MR_ASSIGN(AwsSettings settings, read_aws_settings(environment_, local_));
    HttpTerms terms = http_terms();
    terms.authorities = settings.authorities;
    s3_ =
        std::make_unique<S3>(std::move(settings), std::move(terms), clock_, random_, retry_terms());
  }
  return &s3_->files;
}

Result<Files*> RemoteStores::hdfs() {
  if (hdfs_ == nullptr) {
    MR_ASSIGN(HdfsSettings settings, read_hdfs_settings(environment_, local_));
    hdfs_ =
        std::make_unique<Hdfs>(std::move(settings), http_terms(), clock_, random_, retry_terms());
  }
  return &hdfs_->files;
}

void RemoteStores::stop() {
  MutexLock lock(mutex_);
  is_stopped_ = true;
  if (s3_ != nullptr) {
    s3_->http.stop();
    s3_->retries.stop();
  }
  if (hdfs_ != nullptr) {
    hdfs_->http.stop();
    hdfs_->retries.stop();
  }
}

}  // namespace millrace::remote

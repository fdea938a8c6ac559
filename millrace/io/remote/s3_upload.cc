#include "millrace/io/remote/s3_upload.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/s3_answers.h"
#include "millrace/io/remote/url.h"

namespace millrace::remote {
namespace {

// S3's own limits: what one request copies, and what a part may be.
constexpr uint64_t kLargestCopy = uint64_t{5} << 30;
constexpr uint64_t kCopiedPart = uint64_t{1} << 30;

std::string copy_source(const S3Place& from) {
  return str_cat("/", from.bucket, "/", percent_encoded(from.key, Slashes::kept));
}

std::map<std::string, std::string> copying(const S3Place& from, const S3Object& object) {
  std::map<std::string, std::string> headers = {{"x-amz-copy-source", copy_source(from)}};
  if (!object.etag.empty()) headers["x-amz-copy-source-if-match"] = object.etag;
  return headers;
}

int64_t micros_of(std::string_view http_date) {
  absl::Time time;
  std::string problem;
  if (!absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", to_absl(http_date), &time, &problem)) return 0;
  return absl::ToUnixMicros(time);
}

}  // namespace

Result<S3Object> look_at(const S3Store& store, const S3Place& place) {
  const S3Ask asked{.method = "HEAD"};
  MR_ASSIGN(const HttpReply reply, store.done(place, asked));
  S3Object found{.size = 0,
                 .etag = std::string(reply.header("etag")),
                 .changed_micros = micros_of(reply.header("last-modified"))};
  if (!absl::SimpleAtoi(to_absl(reply.header("content-length")), &found.size))
    return error(Code::data_loss, place.to_string(), "; the store does not say how long it is");
  return found;
}

S3Upload::S3Upload(const S3Store& store, S3Place place, std::optional<S3Object> base,
                   std::string beginning)
    : store_(store),
      place_(std::move(place)),
      base_(std::move(base)),
      tail_(std::move(beginning)),
      is_flushed_(!tail_.empty()) {}

S3Upload::~S3Upload() {
  if (!is_closed_ && problem_.ok()) static_cast<void>(flush());
  if (!upload_.empty()) give_up();
}

Status S3Upload::kept(Status status) {
  if (!status.ok()) {
    problem_ = status;
    if (!upload_.empty()) give_up();
  }
  return status;
}

Status S3Upload::append(std::string_view bytes) {
  if (is_closed_) return failed_precondition(place_.to_string(), " is closed");
  MR_TRY(problem_);
  return kept(append_all(bytes));
}

Status S3Upload::append_all(std::string_view bytes) {
  while (!bytes.empty()) {
    is_flushed_ = false;
    const uint64_t before = num_sent_ + (base_ ? base_->size : 0);
    const size_t part = std::max<uint64_t>(kPart, before / 1000);
    const std::string_view some = bytes.substr(0, part - std::min(part, tail_.size()));
    tail_.append(some);
    bytes.remove_prefix(some.size());
    if (tail_.size() >= part) MR_TRY(put_part());
  }
  return {};
}

Status S3Upload::flush() {
  if (is_closed_) return failed_precondition(place_.to_string(), " is closed");
  MR_TRY(problem_);
  return is_flushed_ ? Status() : kept(flush_all());
}

Status S3Upload::flush_all() {
  if (upload_.empty() && !base_) {
    // The bytes stay here: what follows them makes the object anew.
    MR_TRY(store_.done(place_, {.method = "PUT", .body = tail_}).status());
  } else if (!upload_.empty() || !tail_.empty()) {
    if (!tail_.empty()) MR_TRY(put_part());
    MR_TRY(complete());
  }
  is_flushed_ = true;
  return {};
}

Status S3Upload::close() {
  MR_TRY(flush());
  is_closed_ = true;
  return {};
}

Status S3Upload::begin() {
  const S3Ask asked{.method = "POST", .query = {{"uploads", ""}}};
  MR_ASSIGN(const HttpReply reply, store_.done(place_, asked));
  MR_ASSIGN(upload_, read_s3_upload(reply.body).with(place_.to_string()));
  etags_.clear();
  num_sent_ = 0;
  if (!base_) return {};
  const S3Object base = *std::exchange(base_, std::nullopt);
  return take_over(place_, base);
}

Status S3Upload::put_part() {
  if (upload_.empty()) MR_TRY(begin());
  const S3Ask asked{.method = "PUT",
                    .query = {{"partNumber", str_cat(etags_.size() + 1)}, {"uploadId", upload_}},
                    .body = tail_};
  MR_ASSIGN(const HttpReply reply, store_.done(place_, asked));
  if (reply.header("etag").empty())
    return error(Code::data_loss, place_.to_string(), "; the store took a part without an ETag");
  etags_.emplace_back(reply.header("etag"));
  num_sent_ += tail_.size();
  tail_.clear();
  return {};
}

Status S3Upload::take_over(const S3Place& from, const S3Object& object) {
  // Of about one size, so that none is smaller than a part may be.
  const uint64_t count = (object.size + kCopiedPart - 1) / kCopiedPart;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t first = object.size / count * i;
    const uint64_t end = i + 1 == count ? object.size : object.size / count * (i + 1);
    S3Ask asked{.method = "PUT",
                .query = {{"partNumber", str_cat(etags_.size() + 1)}, {"uploadId", upload_}},
                .headers = copying(from, object),
                .pace = Pace::slow};
    asked.headers["x-amz-copy-source-range"] = str_cat("bytes=", first, "-", end - 1);
    MR_ASSIGN(const HttpReply reply, store_.done(place_, asked));
    MR_ASSIGN(std::string etag, read_s3_etag(reply.body).with(place_.to_string()));
    etags_.push_back(std::move(etag));
  }
  num_sent_ += object.size;
  return {};
}

Status S3Upload::complete() {
  const std::string body = s3_completion(etags_);
  const S3Ask asked{
      .method = "POST", .query = {{"uploadId", upload_}}, .body = body, .pace = Pace::slow};
  const Result<HttpReply> reply = store_.done(place_, asked);
  S3Object made{.size = num_sent_};
  if (reply.ok()) {
    made.etag = read_s3_etag(reply->body).ok() ? *read_s3_etag(reply->body) : "";
  } else if (reply.status().code() == Code::not_found ||
             reply.status().code() == Code::unavailable) {
    // A try before may have completed it, and only its answer was lost.
    MR_TRY(settle_unsure(etags_, reply.status()));
    made.etag = expected_s3_etag(etags_);
  } else {
    return reply.status();
  }
  upload_.clear();
  etags_.clear();
  num_sent_ = 0;
  base_ = std::move(made);
  return {};
}

Status S3Upload::settle_unsure(const std::vector<std::string>& etags, const Status& said) {
  const auto there = look_at(store_, place_);
  const std::string expected = expected_s3_etag(etags);
  if (there.ok() && there->size == num_sent_ && !expected.empty() && there->etag == expected)
    return {};
  return said;
}

void S3Upload::give_up() {
  // Best effort: a store that is told to forgets parts that nobody completes.
  static_cast<void>(store_.ask(
      place_, {.method = "DELETE", .query = {{"uploadId", std::exchange(upload_, "")}}}));
}

Status S3Upload::copy(const S3Store& store, const S3Place& from, const S3Object& object,
                      const S3Place& to) {
  if (object.size <= kLargestCopy) {
    const S3Ask asked{.method = "PUT", .headers = copying(from, object), .pace = Pace::slow};
    return store.done(to, asked).status();
  }
  S3Upload upload(store, to);
  const auto all = [&]() -> Status {
    MR_TRY(upload.begin());
    MR_TRY(upload.take_over(from, object));
    return upload.complete();
  };
  MR_TRY(upload.kept(all()));
  upload.is_closed_ = true;
  return {};
}

}  // namespace millrace::remote

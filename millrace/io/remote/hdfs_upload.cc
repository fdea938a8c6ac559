#include "millrace/io/remote/hdfs_upload.h"

#include <algorithm>
#include <utility>

#include "millrace/io/remote/hdfs_answers.h"

namespace millrace::remote {
namespace {

// What is put at once: each time, the cluster looks for machines and agrees on the file's end.
constexpr size_t kPiece = 16 << 20;
constexpr int kContinuations = 3;  // tries whose end nobody told

}  // namespace

Result<FileFacts> hdfs_facts(const HdfsStore& store, const HdfsPlace& place) {
  MR_ASSIGN(const HttpReply reply, store.done(place, {.op = "GETFILESTATUS"}));
  return read_hdfs_facts(reply.body).with(place.shown);
}

HdfsUpload::HdfsUpload(const HdfsStore& store, HdfsPlace place, std::optional<uint64_t> length)
    : store_(store), place_(std::move(place)), length_(length) {}

HdfsUpload::~HdfsUpload() {
  if (!is_closed_ && problem_.ok()) static_cast<void>(flush());
}

Status HdfsUpload::append(std::string_view bytes) {
  if (is_closed_) return failed_precondition(place_.shown, " is closed");
  MR_TRY(problem_);
  while (!bytes.empty()) {
    const std::string_view some = bytes.substr(0, kPiece - tail_.size());
    tail_.append(some);
    bytes.remove_prefix(some.size());
    if (tail_.size() == kPiece) MR_TRY(problem_ = put());
  }
  return {};
}

Status HdfsUpload::flush() {
  if (is_closed_) return failed_precondition(place_.shown, " is closed");
  MR_TRY(problem_);
  if (length_ && tail_.empty()) return {};
  return problem_ = put();
}

Status HdfsUpload::close() {
  MR_TRY(flush());
  is_closed_ = true;
  return {};
}

Status HdfsUpload::put() {
  if (length_) {
    MR_TRY(continue_file());
  } else {
    MR_TRY(store_
               .done(place_, {.method = "PUT",
                              .op = "CREATE",
                              .query = {{"overwrite", "true"}},
                              .body = tail_,
                              .has_body = true})
               .status());
    length_ = 0;
  }
  *length_ += tail_.size();
  tail_.clear();
  return {};
}

Status HdfsUpload::continued_once() const {
  MR_ASSIGN(const FileFacts there, hdfs_facts(store_, place_));
  if (there.size == *length_ + tail_.size()) return {};
  return error(Code::data_loss, place_.shown, "; has ", there.size, " bytes, and not ",
               *length_ + tail_.size(),
               ": a try whose end nobody told was done after all, so its bytes may be there twice");
}

Status HdfsUpload::continue_file() {
  const HdfsAsk asked{
      .method = "POST", .op = "APPEND", .body = tail_, .has_body = true, .repeat = Repeat::unsent};
  for (int attempt = 1;; ++attempt) {
    const Answer answer = store_.ask(place_, asked);
    if (answer.reply.ok()) return attempt == 1 ? Status() : continued_once();
    Status said = store_.refused(place_, asked, answer);
    // An answer says that it was not done; without one, the file's length does.
    if (answer.reply.trouble.code() != Code::unavailable || !answer.reply.was_sent ||
        attempt == kContinuations)
      return said;
    const auto there = hdfs_facts(store_, place_);
    if (there.ok() && there->size == *length_ + tail_.size()) return {};
    if (!there.ok() || there->size != *length_) return said;
  }
}

}  // namespace millrace::remote

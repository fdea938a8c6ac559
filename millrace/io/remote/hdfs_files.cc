#include "millrace/io/remote/hdfs_files.h"

#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/hdfs_answers.h"
#include "millrace/io/remote/hdfs_upload.h"
#include "millrace/io/remote/remote_file.h"

namespace millrace::remote {
namespace {

constexpr size_t kMostEntries = 1'000'000;
constexpr size_t kLongestList = 32 << 20;  // bytes of one answer; an entry takes some 300

Status fetch_range(const HdfsStore& store, const HdfsPlace& place, uint64_t offset,
                   std::span<char> into) {
  const HdfsAsk asked{.op = "OPEN",
                      .query = {{"offset", str_cat(offset)}, {"length", str_cat(into.size())}},
                      .into = into};
  MR_ASSIGN(const HttpReply reply, store.done(place, asked));
  if (reply.received == into.size()) return {};
  return error(Code::data_loss, place.shown, "; ", into.size(), " bytes from ", offset,
               " on were asked for, and ", reply.received,
               " came: the file was replaced while it was read, or is cut off");
}

Status is_a_directory(const std::string& path) {
  return failed_precondition(path, "; is a directory");
}

}  // namespace

Result<std::unique_ptr<ReadableFile>> HdfsFiles::open(const std::string& path) {
  MR_ASSIGN(HdfsPlace place, store_.place_of(path));
  MR_ASSIGN(const FileFacts there, hdfs_facts(store_, place));
  if (there.is_directory) return is_a_directory(path);
  return std::unique_ptr<ReadableFile>(std::make_unique<RemoteFile>(
      there.size,
      [&store = store_, place = std::move(place)](uint64_t offset, std::span<char> into) {
        return fetch_range(store, place, offset, into);
      }));
}

Result<std::unique_ptr<WritableFile>> HdfsFiles::create(const std::string& path) {
  MR_ASSIGN(HdfsPlace place, store_.place_of(path));
  return std::unique_ptr<WritableFile>(
      std::make_unique<HdfsUpload>(store_, std::move(place), std::nullopt));
}

Result<std::unique_ptr<WritableFile>> HdfsFiles::append_to(const std::string& path) {
  MR_ASSIGN(HdfsPlace place, store_.place_of(path));
  const auto there = hdfs_facts(store_, place);
  std::optional<uint64_t> length;
  if (there.ok()) {
    if (there->is_directory) return is_a_directory(path);
    length = there->size;
  } else if (there.status().code() != Code::not_found) {
    return there.status();
  }
  return std::unique_ptr<WritableFile>(
      std::make_unique<HdfsUpload>(store_, std::move(place), length));
}

Result<FileFacts> HdfsFiles::facts(const std::string& path) {
  MR_ASSIGN(const HdfsPlace place, store_.place_of(path));
  return hdfs_facts(store_, place);
}

Result<std::vector<std::string>> HdfsFiles::list(const std::string& directory) {
  MR_ASSIGN(const HdfsPlace place, store_.place_of(directory));
  std::vector<std::string> names;
  bool in_batches = true;
  for (;;) {
    HdfsAsk asked{.op = in_batches ? "LISTSTATUS_BATCH" : "LISTSTATUS", .most_body = kLongestList};
    if (!names.empty()) asked.query = {{"startAfter", names.back()}};
    const auto reply = store_.done(place, asked);
    // Servers before 2.8 know only the whole of it.
    if (in_batches && names.empty() && reply.status().code() == Code::invalid_argument) {
      in_batches = false;
      continue;
    }
    if (!in_batches && reply.status().code() == Code::data_loss)
      return error(Code::resource_exhausted, reply.status().message(), "; it has too many names");
    MR_TRY(reply.status());
    MR_ASSIGN(HdfsPage page, read_hdfs_page(reply->body).with(directory));
    for (std::string& name : page.names) {
      if (name.empty()) return failed_precondition(directory, "; is not a directory");
      // In order, as they are asked for: a server that begins again would never end.
      if (!names.empty() && in_batches && name == names.back())
        return error(Code::data_loss, directory, "; the list of it does not end");
      names.push_back(std::move(name));
    }
    if (names.size() > kMostEntries)
      return error(Code::resource_exhausted, directory, "; has more than ", kMostEntries,
                   " names in it");
    if (!page.has_more) return names;
    if (page.names.empty())
      return error(Code::data_loss, directory, "; the list of it does not end");
  }
}

Status HdfsFiles::make_directories(const std::string& path) {
  MR_ASSIGN(const HdfsPlace place, store_.place_of(path));
  const HdfsAsk asked{.method = "PUT", .op = "MKDIRS"};
  MR_ASSIGN(const HttpReply reply, store_.done(place, asked));
  return read_hdfs_boolean(reply.body).value_or(true)
             ? Status()
             : failed_precondition(path, "; the directory was not made");
}

Status HdfsFiles::remove_what(const std::string& path, bool is_directory) {
  MR_ASSIGN(const HdfsPlace place, store_.place_of(path));
  MR_ASSIGN(const FileFacts there, hdfs_facts(store_, place));
  if (there.is_directory != is_directory)
    return is_directory ? failed_precondition(path, "; is not a directory") : is_a_directory(path);
  const HdfsAsk asked{.method = "DELETE", .op = "DELETE", .query = {{"recursive", "false"}}};
  const Answer answer = store_.ask(place, asked);
  if (!answer.reply.ok()) return store_.refused(place, asked, answer);
  // Gone by a try whose answer was lost, or by another's hand.
  if (read_hdfs_boolean(answer.reply.body).value_or(true) || answer.tries > 1) return {};
  return not_found(path, "; No such file or directory");
}

Status HdfsFiles::remove(const std::string& path) { return remove_what(path, false); }

Status HdfsFiles::remove_directory(const std::string& path) { return remove_what(path, true); }

Status HdfsFiles::rename(const std::string& from, const std::string& to) {
  MR_ASSIGN(const HdfsPlace old_place, store_.place_of(from));
  MR_ASSIGN(const HdfsPlace new_place, store_.place_of(to));
  if (old_place.origin != new_place.origin)
    return invalid(from, "; can't be renamed to '", to, "': that is another file system");
  const HdfsAsk asked{.method = "PUT",
                      .op = "RENAME",
                      .query = {{"destination", new_place.path}, {"renameoptions", "OVERWRITE"}}};
  const Answer answer = store_.ask(old_place, asked);
  if (!answer.reply.ok()) {
    Status said = store_.refused(old_place, asked, answer);
    // A try before may have done it, and only its answer was lost.
    const bool may_be_done = said.code() == Code::not_found && answer.tries > 1;
    return may_be_done && hdfs_facts(store_, new_place).ok() ? Status() : said;
  }
  if (read_hdfs_boolean(answer.reply.body).value_or(true)) return {};
  // A server that knows no options has left the old file where it is: then not at once.
  MR_TRY(hdfs_facts(store_, old_place).status());
  MR_TRY(remove(to));
  MR_ASSIGN(const HttpReply reply, store_.done(old_place, asked));
  return read_hdfs_boolean(reply.body).value_or(true)
             ? Status()
             : failed_precondition(from, "; was not renamed to '", to, "'");
}

}  // namespace millrace::remote

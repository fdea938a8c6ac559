#include "millrace/io/remote/s3_files.h"

#include <set>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/io/remote/remote_file.h"
#include "millrace/io/remote/s3_answers.h"
#include "millrace/io/remote/s3_upload.h"
#include "millrace/io/remote/url.h"

namespace millrace::remote {
namespace {

constexpr size_t kMostNames = 1'000'000;
constexpr size_t kLongestPage = 16 << 20;  // bytes; a page has up to 1000 keys of up to 1024 bytes

Result<S3Place> place_of(const std::string& path) {
  MR_ASSIGN(Address address, parse_address(path));
  return S3Place{.bucket = std::move(address.authority), .key = std::move(address.path)};
}

// Of something that is a file, if it is anything.
Result<S3Place> file_place(const std::string& path) {
  MR_ASSIGN(S3Place place, place_of(path));
  if (place.key.empty() || place.key.ends_with('/'))
    return failed_precondition(path, "; is a directory");
  return place;
}

// The prefix of what is in a directory: empty for a bucket, else with a slash.
Result<S3Place> inside_of(const std::string& path) {
  MR_ASSIGN(S3Place place, place_of(path));
  if (!place.key.empty() && !place.key.ends_with('/')) place.key += '/';
  return place;
}

// One page of what begins with the place's key.
Result<S3Page> page_at(const S3Store& store, const S3Place& place, int most, bool flat,
                       const std::string& token) {
  Query query = {{"encoding-type", "url"},
                 {"list-type", "2"},
                 {"max-keys", str_cat(most)},
                 {"prefix", place.key}};
  if (!flat) query.insert(query.begin(), {"delimiter", "/"});
  if (!token.empty()) query.insert(query.begin(), {"continuation-token", token});
  const S3Place bucket{.bucket = place.bucket, .key = ""};
  const S3Ask asked{.query = std::move(query), .most_body = kLongestPage};
  const std::string listing = str_cat("listing '", place.to_string(), "'");
  MR_ASSIGN(const HttpReply reply, store.done(bucket, asked).with(listing));
  return read_s3_page(reply.body).with(listing);
}

Status fetch_object(const S3Store& store, const S3Place& place, const std::string& etag,
                    uint64_t offset, std::span<char> into) {
  S3Ask asked{.headers = {{"range", str_cat("bytes=", offset, "-", offset + into.size() - 1)}},
              .into = into};
  if (!etag.empty()) asked.headers["if-match"] = etag;
  const auto reply = store.done(place, asked);
  if (reply.status().code() == Code::aborted)
    return aborted(place.to_string(), "; the object was replaced while it was read");
  MR_TRY(reply.status());
  const bool is_part = reply->status == 206 || offset == 0;
  if (is_part && reply->received == into.size()) return {};
  return error(Code::data_loss, place.to_string(), "; ", into.size(), " bytes from ", offset,
               " on were asked for, and ", reply->received, " came with status ", reply->status);
}

Status nothing_there(const S3Place& place) {
  return not_found(place.to_string(), "; No such file or directory");
}

}  // namespace

Result<std::unique_ptr<ReadableFile>> S3Files::open(const std::string& path) {
  MR_ASSIGN(S3Place place, file_place(path));
  MR_ASSIGN(S3Object object, look_at(store_, place));
  const uint64_t size = object.size;
  return std::unique_ptr<ReadableFile>(std::make_unique<RemoteFile>(
      size, [&store = store_, place = std::move(place), etag = std::move(object.etag)](
                uint64_t offset, std::span<char> into) {
        return fetch_object(store, place, etag, offset, into);
      }));
}

Result<std::unique_ptr<WritableFile>> S3Files::create(const std::string& path) {
  MR_ASSIGN(S3Place place, file_place(path));
  return std::unique_ptr<WritableFile>(std::make_unique<S3Upload>(store_, std::move(place)));
}

Result<std::unique_ptr<WritableFile>> S3Files::append_to(const std::string& path) {
  MR_ASSIGN(S3Place place, file_place(path));
  auto there = look_at(store_, place);
  if (there.status().code() == Code::not_found)
    return std::unique_ptr<WritableFile>(std::make_unique<S3Upload>(store_, std::move(place)));
  MR_ASSIGN(S3Object object, std::move(there));
  if (object.size >= S3Upload::kPart) {
    return std::unique_ptr<WritableFile>(
        std::make_unique<S3Upload>(store_, std::move(place), std::move(object)));
  }
  std::string bytes(object.size, '\0');
  if (!bytes.empty()) MR_TRY(fetch_object(store_, place, object.etag, 0, bytes));
  return std::unique_ptr<WritableFile>(
      std::make_unique<S3Upload>(store_, std::move(place), std::nullopt, std::move(bytes)));
}

Result<FileFacts> S3Files::facts(const std::string& path) {
  MR_ASSIGN(const S3Place place, place_of(path));
  if (!place.key.empty() && !place.key.ends_with('/')) {
    const auto object = look_at(store_, place);
    if (object.ok())
      return FileFacts{.size = object->size, .changed_micros = object->changed_micros};
    if (object.status().code() != Code::not_found) return object.status();
  }
  MR_ASSIGN(const S3Place inside, inside_of(path));
  MR_ASSIGN(const S3Page page, page_at(store_, inside, 1, true, ""));
  if (page.keys.empty() && !inside.key.empty()) return nothing_there(place);
  return FileFacts{.is_directory = true};
}

Result<std::vector<std::string>> S3Files::list(const std::string& directory) {
  MR_ASSIGN(const S3Place inside, inside_of(directory));
  std::set<std::string> names;  // an object and a prefix may have one name
  bool is_there = inside.key.empty();
  std::string token;
  // A store that goes on for ever without a name is not listened to for ever.
  for (int empty_pages = 0;;) {
    MR_ASSIGN(const S3Page page, page_at(store_, inside, 1000, false, token));
    const size_t before = names.size();
    for (const auto* found : {&page.keys, &page.prefixes}) {
      for (const std::string& key : *found) {
        if (!key.starts_with(inside.key))
          return error(Code::data_loss, inside.to_string(), "; the store lists '", shown_text(key),
                       "', which is not in it");
        is_there = true;
        std::string name = key.substr(inside.key.size());
        if (name.ends_with('/')) name.pop_back();
        if (!name.empty()) names.insert(std::move(name));
      }
    }
    if (names.size() > kMostNames)
      return error(Code::resource_exhausted, inside.to_string(), "; has more than ", kMostNames,
                   " names in it");
    if (page.next.empty()) break;
    empty_pages = names.size() == before ? empty_pages + 1 : 0;
    if (page.next == token || empty_pages > 100)
      return error(Code::data_loss, inside.to_string(), "; the list of it does not end");
    token = page.next;
  }
  if (!is_there) return nothing_there(inside);
  return std::vector<std::string>(names.begin(), names.end());
}

Status S3Files::make_directories(const std::string& path) {
  MR_ASSIGN(const S3Place inside, inside_of(path));
  if (inside.key.empty()) return {};
  MR_ASSIGN(const S3Page page, page_at(store_, inside, 1, true, ""));
  if (!page.keys.empty()) return {};
  return store_.done(inside, {.method = "PUT"}).status();
}

Status S3Files::remove(const std::string& path) {
  MR_ASSIGN(const S3Place place, file_place(path));
  // To remove what is not there is no error for S3.
  MR_TRY(look_at(store_, place).status());
  return store_.done(place, {.method = "DELETE"}).status();
}

Status S3Files::remove_directory(const std::string& path) {
  MR_ASSIGN(const S3Place inside, inside_of(path));
  if (inside.key.empty()) return failed_precondition(path, "; is a bucket, which nobody removes");
  MR_ASSIGN(const S3Page page, page_at(store_, inside, 2, true, ""));
  if (page.keys.empty()) return nothing_there(inside);
  if (page.keys.size() > 1 || page.keys.front() != inside.key)
    return failed_precondition(path, "; Directory not empty");
  return store_.done(inside, {.method = "DELETE"}).status();
}

Status S3Files::rename(const std::string& from, const std::string& to) {
  MR_ASSIGN(const S3Place old_place, file_place(from));
  MR_ASSIGN(const S3Place new_place, file_place(to));
  const auto object = look_at(store_, old_place);
  if (object.status().code() == Code::not_found) {
    const auto found = facts(from);
    if (found.ok() && found->is_directory) {
      return unimplemented(from,
                           "; is a directory, and S3 has none that could be renamed: its "
                           "objects would be copied one by one");
    }
  }
  MR_TRY(object.status());
  if (old_place.bucket == new_place.bucket && old_place.key == new_place.key) return {};
  MR_TRY(S3Upload::copy(store_, old_place, *object, new_place));
  return store_.done(old_place, {.method = "DELETE"}).status();
}

}  // namespace millrace::remote

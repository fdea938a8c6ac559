#include "millrace/mapreduce/workshop.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/io/paths.h"

namespace millrace::mapreduce {

namespace {

constexpr std::string_view kPublishing = "publishing";  // a file of a workshop

}  // namespace

Workshop::Workshop(Files& files, std::string folder, std::string_view token)
    : files_(files), folder_(std::move(folder)), path_(str_cat(folder_, ".unfinished-", token)) {}

Status Workshop::make() {
  const std::string what = str_cat("the output '", folder_, "' can't be written");
  const Result<FileFacts> facts = files_.facts(folder_);
  if (facts.ok()) {
    bool is_there = !facts->is_directory;
    if (!is_there) {
      MR_ASSIGN(const std::vector<std::string> names, files_.list(folder_).with(what));
      is_there = !names.empty();
    }
    if (is_there)
      return error(Code::already_exists, "the output '", folder_,
                   "' is there already: remove it, or name another");
  } else if (facts.status().code() != Code::not_found) {
    return facts.status().with(what);
  }
  is_made_ = true;
  return files_.make_directories(path_ + "/out").with(what);
}

std::vector<std::string> Workshop::others() const {
  const std::string parent =
      io::directory_of(folder_).empty() ? std::string("/") : std::string(io::directory_of(folder_));
  const std::string before = folder_.substr(folder_.rfind('/') + 1) + ".unfinished-";
  std::vector<std::string> found;
  const auto names = files_.list(parent);
  if (!names.ok()) return found;
  for (const std::string& name : *names) {
    std::string path = str_cat(parent, parent.ends_with('/') ? "" : "/", name);
    if (name.starts_with(before) && path != path_) found.push_back(std::move(path));
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::string> Workshop::write(std::string_view name, std::string_view bytes) {
  std::string path = str_cat(path_, "/", name);
  MR_ASSIGN(const auto file, files_.create(path));
  MR_TRY(file->append(bytes));
  MR_TRY(file->close());
  return path;
}

Status Workshop::gather_aside(const std::string& to, const std::vector<std::string>& aside) {
  MR_ASSIGN(const auto file, files_.create(to));
  std::string piece(size_t{64} << 10, '\0');
  for (const std::string& path : aside) {
    MR_ASSIGN(const auto from, files_.open(path));
    for (uint64_t at = 0;;) {
      MR_ASSIGN(const size_t some, from->read(at, piece));
      MR_TRY(file->append(std::string_view(piece).substr(0, some)));
      if (some < piece.size()) break;
      at += some;
    }
  }
  return file->close();
}

Result<std::vector<std::string>> Workshop::gather(const std::vector<std::string>& parts,
                                                  std::string_view suffix, const Counters& counters,
                                                  const std::vector<std::string>& aside) {
  const std::string what = not_made();
  const std::string out = path_ + "/out";
  std::vector<std::string> made;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string name = str_cat("/part-", absl::Dec(i, absl::kZeroPad5), "-of-",
                                     absl::Dec(parts.size(), absl::kZeroPad5), suffix);
    MR_TRY(files_.rename(parts[i], out + name).with(what));
    made.push_back(folder_ + name);
  }
  const std::string counted =
      nlohmann::json(counters).dump(1, ' ', true, nlohmann::json::error_handler_t::replace);
  MR_TRY(write("out/_counters.json", counted).status().with(what));
  if (!aside.empty()) MR_TRY(gather_aside(out + "/_rejected.jsonl", aside).with(what));
  return made;
}

Status Workshop::note_publishing() { return write(kPublishing, {}).status().with(not_made()); }

Status Workshop::check_nothing_was_put() const {
  for (const std::string& path : others()) {
    if (!files_.facts(str_cat(path, "/", kPublishing)).ok()) continue;
    return failed_precondition(
        "a job that was killed, or still runs, has put some of the results into the queue: ", path,
        " is its folder; make the queue anew and remove that");
  }
  return {};
}

Status Workshop::publish() { return files_.rename(path_ + "/out", folder_).with(not_made()); }

std::string Workshop::not_made() const {
  return str_cat("the output '", folder_, "' can't be made");
}

void Workshop::remove() {
  if (!is_made_) return;
  is_made_ = false;
  const std::string over = path_ + "-over";
  const Status renamed = files_.rename(path_, over);
  remove_folder(files_, renamed.ok() ? over : path_);
}

void remove_folder(Files& files, const std::string& path) {
  const auto names = files.list(path);
  if (names.ok()) {
    for (const std::string& name : *names) {
      const std::string each = str_cat(path, "/", name);
      const auto facts = files.facts(each);
      if (facts.ok() && facts->is_directory) {
        remove_folder(files, each);
      } else {
        static_cast<void>(files.remove(each));
      }
    }
  }
  static_cast<void>(files.remove_directory(path));
}

std::string token_of(uint64_t number) { return str_cat(absl::Hex(number, absl::kZeroPad16)); }

}  // namespace millrace::mapreduce

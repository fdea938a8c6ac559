#include "millrace/train/checkpoint_state.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"

#include "millrace/base/str_cat.h"
#include "millrace/io/paths.h"
#include "millrace/train/saver.h"

namespace millrace {
namespace {

constexpr std::string_view kNewest = "model_checkpoint_path: ";
constexpr std::string_view kEach = "all_model_checkpoint_paths: ";

// (folder with its slash, name)
std::pair<std::string, std::string> parted(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash + 1), path.substr(slash + 1)};
}

std::string quoted(const std::string& text) {
  return str_cat("\"", absl::Utf8SafeCEscape(text), "\"");
}

// What stands in quotes at the begin of `text`; none if that is something else.
std::optional<std::string> unquoted(std::string_view text) {
  if (text.empty() || (text.front() != '"' && text.front() != '\'')) return std::nullopt;
  size_t end = 1;
  while (end < text.size() && text[end] != text.front()) end += text[end] == '\\' ? 2 : 1;
  std::string made;
  if (end >= text.size() || !absl::CUnescape(to_absl(text.substr(1, end - 1)), &made))
    return std::nullopt;
  return made;
}

// What the lines of a file say that begin with `key`; those that can't be read are left out.
std::vector<std::string> named(std::string_view text, std::string_view key) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(key)) continue;
    const auto name = unquoted(line.substr(key.size()));
    if (name && !name->empty()) all.push_back(*name);
  }
  return all;
}

std::string with_slash(const std::string& folder) {
  return folder.empty() || folder.ends_with('/') ? folder : str_cat(folder, "/");
}

std::string placed(const std::string& folder, const std::string& name) {
  return io::root_of(name).empty() ? str_cat(folder, name) : name;
}

Result<std::string> whole_text(Files& files, const std::string& path) {
  MR_ASSIGN(const auto file, files.open(path));
  MR_ASSIGN(const uint64_t size, file->size());
  if (size > (uint64_t{1} << 26))
    return invalid("'", path, "' is no list of checkpoints: ", size, " bytes");
  std::string text(size, '\0');
  MR_ASSIGN(const size_t length, file->read(0, text));
  text.resize(length);
  return text;
}

}  // namespace

Status write_checkpoint_state(Files& files, const std::vector<std::string>& paths) {
  const auto [folder, newest] = parted(paths.back());
  std::string text = str_cat(kNewest, quoted(newest), "\n");
  for (const std::string& path : paths) {
    const auto [own_folder, name] = parted(path);
    str_append(&text, kEach, quoted(own_folder == folder ? name : path), "\n");
  }
  const std::string file = str_cat(folder, "checkpoint"), unfinished = str_cat(file, ".tmp");
  if (newest == "checkpoint") {
    return invalid("a checkpoint can't be called 'checkpoint': the file that lists those of '",
                   folder, "' is");
  }
  MR_ASSIGN(const auto made, files.create(unfinished));
  MR_TRY(made->append(text));
  MR_TRY(made->sync());
  MR_TRY(made->close());
  return files.rename(unfinished, file);
}

Status remove_checkpoint(Files& files, const std::string& path) {
  const auto gone = [](Status status) {
    return status.code() == Code::not_found ? Status() : std::move(status);
  };
  // The index goes first: what is left without it is no checkpoint, and nobody takes it for one.
  MR_TRY(gone(files.remove(str_cat(path, ".index"))));
  const auto [folder, name] = parted(path);
  const auto all = files.list(folder.empty() ? "." : folder);
  if (!all.ok()) return gone(all.status());
  for (const std::string& each : *all)
    if (each.starts_with(str_cat(name, ".data-")) || each == str_cat(name, ".meta"))
      MR_TRY(gone(files.remove(str_cat(folder, each))));
  return {};
}

Result<std::vector<std::string>> known_checkpoints(Files& files, const std::string& folder) {
  const std::string inside = with_slash(folder);
  MR_ASSIGN(const std::string text, whole_text(files, str_cat(inside, "checkpoint")));
  std::vector<std::string> paths;
  for (const std::string& name : named(text, kEach)) paths.push_back(placed(inside, name));
  return paths;
}

Result<std::string> latest_checkpoint(Files& files, const std::string& folder) {
  const std::string inside = with_slash(folder);
  MR_ASSIGN(const std::string text, whole_text(files, str_cat(inside, "checkpoint")));
  const std::vector<std::string> newest = named(text, kNewest);
  if (newest.empty()) return invalid("'", inside, "checkpoint' names no newest checkpoint");
  return placed(inside, newest.front());
}

}  // namespace millrace

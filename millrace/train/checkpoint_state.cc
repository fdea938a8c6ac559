#include "millrace/train/checkpoint_state.h"

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"

#include "millrace/base/str_cat.h"
#include "millrace/train/saver.h"

namespace millrace {
namespace {

constexpr std::string_view kNewest = "model_checkpoint_path: ";

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
    str_append(&text, "all_model_checkpoint_paths: ", quoted(own_folder == folder ? name : path),
               "\n");
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

Result<std::string> latest_checkpoint(Files& files, const std::string& folder) {
  const std::string inside =
      folder.empty() || folder.ends_with('/') ? folder : str_cat(folder, "/");
  MR_ASSIGN(const std::string text, whole_text(files, str_cat(inside, "checkpoint")));
  const size_t at = text.find(kNewest);
  const auto name = at == std::string::npos
                        ? std::nullopt
                        : unquoted(std::string_view(text).substr(at + kNewest.size()));
  if (!name || name->empty()) return invalid("'", inside, "checkpoint' names no newest checkpoint");
  return name->starts_with('/') ? *name : str_cat(inside, *name);
}

}  // namespace millrace

#include "millrace/io/remote/every_file.h"

#include <string_view>
#include <utility>

#include "millrace/io/paths.h"

namespace millrace {
namespace {

Status not_lasting(const std::string& path) {
  return failed_precondition(path, "; only files of the local disk are kept so, not remote ones");
}

}  // namespace

Result<EveryFile::Owner> EveryFile::owner_of(const std::string& path) {
  const std::string_view scheme = io::scheme_of(path);
  if (scheme.empty()) return Owner{&local_, path};
  if (scheme == "file") {
    // "file:///a" and "file://localhost/a"
    std::string_view rest = std::string_view(path).substr(scheme.size() + 3);
    if (rest.starts_with("localhost/")) rest.remove_prefix(9);
    if (!rest.starts_with('/'))
      return invalid(path, "; names another machine: files of this one are file:///PATH");
    return Owner{&local_, std::string(rest)};
  }
  const auto store = stores_.of(scheme);
  if (!store.ok()) return store.status().with(path);
  return Owner{*store, path};
}

Result<std::unique_ptr<ReadableFile>> EveryFile::open(const std::string& path) {
  MR_ASSIGN(const Owner owner, owner_of(path));
  return owner.files->open(owner.path);
}

Result<std::unique_ptr<WritableFile>> EveryFile::create(const std::string& path) {
  MR_ASSIGN(const Owner owner, owner_of(path));
  return owner.files->create(owner.path);
}

Result<std::unique_ptr<WritableFile>> EveryFile::append_to(const std::string& path) {
  MR_ASSIGN(const Owner owner, owner_of(path));
  return owner.files->append_to(owner.path);
}

Result<FileFacts> EveryFile::facts(const std::string& path) {
  MR_ASSIGN(const Owner owner, owner_of(path));
  return owner.files->facts(owner.path);
}

Result<std::vector<std::string>> EveryFile::list(const std::string& directory) {
  MR_ASSIGN(const Owner owner, owner_of(directory));
  return owner.files->list(owner.path);
}

Status EveryFile::make_directories(const std::string& path) {
  MR_ASSIGN(const Owner owner, owner_of(path));
  return owner.files->make_directories(owner.path);
}

Status EveryFile::remove(const std::string& path) {
  MR_ASSIGN(const Owner owner, owner_of(path));
  return owner.files->remove(owner.path);
}

Status EveryFile::remove_directory(const std::string& path) {
  MR_ASSIGN(const Owner owner, owner_of(path));
  return owner.files->remove_directory(owner.path);
}

Status EveryFile::rename(const std::string& from, const std::string& to) {
  MR_ASSIGN(const Owner old_owner, owner_of(from));
  MR_ASSIGN(const Owner new_owner, owner_of(to));
  if (old_owner.files != new_owner.files)
    return invalid(from, "; can't be renamed to '", to,
                   "', which another kind of files has: copy it");
  return old_owner.files->rename(old_owner.path, new_owner.path);
}

Status EveryFile::sync_folder(const std::string& path) {
  MR_ASSIGN(const Owner owner, owner_of(path));
  return owner.files == &local_ ? local_.sync_folder(owner.path) : not_lasting(path);
}

Result<std::unique_ptr<FileLock>> EveryFile::lock(const std::string& path) {
  MR_ASSIGN(const Owner owner, owner_of(path));
  if (owner.files != &local_) return not_lasting(path);
  return local_.lock(owner.path);
}

}  // namespace millrace

#include "millrace/launch/local_secrets.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "millrace/launch/descriptor.h"

namespace millrace {
namespace {

// Of a file not a byte more is read than shows that it is too long, or that a device has no end.
Result<std::string> file_text(const std::string& path, size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad())
    return failed_precondition("it can't be read: ", strerror(errno));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

Result<std::string> secret_value(const SecretSource& source) {
  if (source.kind == SecretSource::Kind::environment) {
    const char* value = std::getenv(source.from.c_str());
    if (value == nullptr)
      return failed_precondition("it is not set here; read -rs ", source.from, "; export ",
                                 source.from, "  sets it");
    return std::string(value);
  }
  // As a shell's $(cat FILE).
  MR_ASSIGN(std::string text, file_text(source.from, kLongestSecret + 1));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

Result<SecretValues> read_secrets(const JobSpec& job) {
  SecretValues values;
  size_t bytes = 0;
  for (const RoleSecret& secret : secrets_of(job)) {
    if (secret.source.kind == SecretSource::Kind::kubernetes) continue;
    const std::string what = str_cat("secrets.", secret.key, ": ", to_text(secret.source));
    Result<std::string> value = secret_value(secret.source);
    if (!value.ok()) return value.status().with(what);
    if (const Status fits = check_secret_value(*value); !fits.ok())
      return failed_precondition(fits.message()).with(what);
    bytes += value->size();
    values[secret.key] = std::move(*value);
  }
  if (bytes > kMostOfSecrets)
    return failed_precondition("the job's secrets have ", bytes, " bytes together; at most ",
                               kMostOfSecrets);
  return values;
}

void hide_sources(const JobSpec& job) {
  for (const RoleSecret& secret : secrets_of(job))
    if (secret.source.kind == SecretSource::Kind::environment) unsetenv(secret.source.from.c_str());
}

std::string secrets_in(const std::string& folder) { return folder + "/secrets"; }

Status write_secrets(const std::string& folder, const SecretValues& values) {
  if (values.empty()) return {};
  const std::string path = secrets_in(folder);
  const std::string text = secret_values_text(values);
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  bool written = file.is_open();
  for (size_t done = 0; written && done < text.size();) {
    const ssize_t size = write(file.number(), text.data() + done, text.size() - done);
    if (size < 0 && errno == EINTR) continue;
    written = size > 0;
    done += written ? static_cast<size_t>(size) : 0;
  }
  if (written) return {};
  Status fault = unavailable("can't write '", path, "': ", strerror(errno));
  unlink(path.c_str());
  return fault;
}

Result<SecretValues> take_secrets(const JobSpec& job, const std::string& folder, KeptSecrets kept) {
  if (folder.empty() || access(secrets_in(folder).c_str(), F_OK) != 0) return read_secrets(job);
  const std::string path = secrets_in(folder);
  // JSON writes some letters as six.
  const Result<std::string> text = file_text(path, 8 * kMostOfSecrets);
  if (kept == KeptSecrets::removed) remove_secrets(folder);
  if (!text.ok()) return text.status().with(path);
  return parse_secret_values(*text).with(path);
}

void remove_secrets(const std::string& folder) { unlink(secrets_in(folder).c_str()); }

}  // namespace millrace

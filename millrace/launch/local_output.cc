#include "millrace/launch/local_output.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace millrace {
namespace {

constexpr size_t kPipeCapacity = size_t{64} * 1024;

}  // namespace

Status TaskOutput::open_log(const std::string& path) {
  log_path_ = path;
  log_ = Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (log_.is_open()) return {};
  return unavailable("can't write the log file '", path, "': ", strerror(errno));
}

TaskOutput::Pipe TaskOutput::read(int pipe, Stream stream) {
  std::array<char, kPipeCapacity> bytes;
  ssize_t size = ::read(pipe, bytes.data(), bytes.size());
  if (size < 0) return errno == EAGAIN || errno == EINTR ? Pipe::open : Pipe::ended;
  if (size == 0) return Pipe::ended;
  take({bytes.data(), static_cast<size_t>(size)}, stream);
  return Pipe::open;
}

void TaskOutput::finish() {
  out_.finish(sink(Stream::out));
  err_.finish(sink(Stream::err));
}

void TaskOutput::take(std::string_view bytes, Stream stream) {
  copy_to_log(bytes);
  splitter(stream).feed(bytes, sink(stream));
}

LineSplitter::Sink TaskOutput::sink(Stream stream) {
  return [this, stream](std::string_view line) {
    errors_.note(stream, line);
    console_->line(task_, stream, line);
  };
}

void TaskOutput::copy_to_log(std::string_view bytes) {
  while (log_.is_open() && !bytes.empty()) {
    ssize_t size = write(log_.number(), bytes.data(), bytes.size());
    if (size > 0) bytes.remove_prefix(static_cast<size_t>(size));
    if (size >= 0 || errno == EINTR) continue;
    console_->note(str_cat("can't write the log file '", log_path_, "': ", strerror(errno)));
    log_.close();
  }
}

}  // namespace millrace

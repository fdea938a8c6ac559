#include "millrace/launch/local_output.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "millrace/launch/peer_lines.h"

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
  for (Stream stream : {Stream::out, Stream::err}) {
    std::string rest = std::exchange(unlogged(stream), "");
    write_log(rest, stream);
  }
}

void TaskOutput::take(std::string_view bytes, Stream stream) {
  copy_to_log(bytes, stream);
  splitter(stream).feed(bytes, sink(stream));
}

LineSplitter::Sink TaskOutput::sink(Stream stream) {
  return [this, stream](std::string_view line) {
    if (stream == Stream::err && is_foreign_ && is_foreign_(line))
      return console_->line(task_, stream, line);
    errors_.note(stream, line);
    if (auto task = waited_for(line)) waiting_ = std::move(task);
    console_->line(task_, stream, line);
  };
}

void TaskOutput::copy_to_log(std::string_view bytes, Stream stream) {
  std::string& start = unlogged(stream);
  size_t whole = bytes.rfind('\n') + 1;  // 0 if there is no line end
  if (whole != 0 || start.size() + bytes.size() > kPipeCapacity) {
    if (whole == 0) whole = bytes.size();
    write_log(std::exchange(start, ""), stream);
    write_log(bytes.substr(0, whole), stream);
    bytes.remove_prefix(whole);
  }
  start += bytes;
}

void TaskOutput::write_log(std::string_view bytes, Stream stream) {
  if (bytes.empty()) return;
  if (stream != log_stream_ && log_end_ != '\n') write_log("\n");
  log_stream_ = stream;
  log_end_ = bytes.back();
  write_log(bytes);
}

void TaskOutput::write_log(std::string_view bytes) {
  while (log_.is_open() && !bytes.empty()) {
    ssize_t size = write(log_.number(), bytes.data(), bytes.size());
    if (size > 0) bytes.remove_prefix(static_cast<size_t>(size));
    if (size >= 0 || errno == EINTR) continue;
    console_->note(str_cat("can't write the log file '", log_path_, "': ", strerror(errno)));
    log_.close();
  }
}

}  // namespace millrace

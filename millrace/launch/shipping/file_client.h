// Beside a task: asks the launcher of its job for files, and brings it what comes back
// (file_calls.h). Blocks; each piece has to move in a time limit, and the word to end is heeded
// meanwhile. Connects when it has something to say. Single-threaded.
//
// Errors of all: UNAVAILABLE if the launcher does not answer, goes away, falls silent or talks
// nonsense; CANCELLED as of heed_leash(); FAILED_PRECONDITION with its reason for what it refuses.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/shipping/file_calls.h"

namespace millrace {

struct FileClientOptions {
  HostPort server = {};
  std::string token = {};
  std::string called = "the job's launcher";
  int leash = -1;  // a descriptor whose end is the word to end; -1: none
  std::function<void(const std::string& text)> progress = {};  // what is waited for
  Clock::Duration patience = std::chrono::seconds(60);  // with one piece of 256 KiB, or an answer
  Clock::Duration to_connect = std::chrono::minutes(10);
  // For what the server says that it has not yet.
  Clock::Duration to_have_it = std::chrono::hours(6);
};

class FileClient {
 public:
  FileClient(FileClientOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  // Writes the blob to the file from its beginning on; asks again what may pass. What came is not
  // looked at. `most`: no more bytes are taken. Errors: DATA_LOSS for a larger one, and what
  // writing says.
  Status get(const std::string& digest, uint64_t most, int to);

  // A collection of outputs: begin, each file, end. An error ends it.
  Status begin_outputs(const std::string& task);
  Status put_output(const PutOutput& output, int from);
  Status end_outputs();

 private:
  Status connect();
  // Asks until the server has it, or gives it up.
  Result<FileAnswer> ask_for(const std::string& digest);
  Status get_once(const std::string& digest, uint64_t most, int to);
  Status say(std::string_view bytes);
  Status wait_for(short events);
  Result<size_t> read_some(char* bytes, size_t most);
  Result<FileAnswer> answer();
  Status expect(bool (*is_it)(const FileAnswer&));
  Status in_words(const Status& status) const;

  const FileClientOptions options_;
  const Clock& clock_;
  Descriptor socket_;
  std::string unread_;
  Clock::Time piece_until_ = {};
};

}  // namespace millrace

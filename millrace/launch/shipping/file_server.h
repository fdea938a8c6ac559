// At the launcher, or in a depot: gives the tasks of its job the files that travel with it, and
// takes what comes back (file_calls.h), in the launcher's poll loop. Never waits; no thread. Blocks
// only as local files do, a piece of a caller at a time.
//
// Strangers cost little: who has not shown the job's token after ten seconds is hung up on, and
// there are never many of those. Who has it may have a buffer of 64 KiB at a time, and is hung up
// on when nothing moves for two minutes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/poll_guest.h"
#include "millrace/launch/shipping/blob_shelf.h"
#include "millrace/launch/shipping/file_calls.h"
#include "millrace/launch/shipping/published_outputs.h"

namespace millrace {

struct FileServerOptions {
  std::string host = "0.0.0.0";
  int port = 0;  // a free one
  std::string token = {};
  std::string output_dir = {};
  // Whose outputs are taken, and the names of their folders: "map:1" -> "map_1".
  std::map<std::string, std::string> collected_as = {};
  OutputLimits limits = {};
  // How much is taken of all tasks together; 0: whatever the disk has room for.
  uint64_t most_kept = 0;
};

class FileServer : public PollGuest {
 public:
  // Errors: as of HeldPort::bind().
  static Result<std::unique_ptr<FileServer>> listen(std::unique_ptr<const BlobShelf> shelf,
                                                    FileServerOptions options);

  int port() const { return port_; }

  void add_descriptors(std::vector<pollfd>& events) const override;
  // Notes tell of outputs that are where they are to be.
  std::vector<std::string> turn(Clock::Time now) override;

 private:
  struct Caller {
    Descriptor socket;
    Clock::Time moved = {};  // when something last did; of a stranger, when it came
    bool is_known = false;
    bool hanging_up = false;  // when all of `unwritten` is written
    std::string unread = {};
    std::string unwritten = {};
    int blob = -1;  // what is sent to it
    off_t blob_at = 0;
    uint64_t blob_left = 0;
    std::string task = {};  // whose outputs come
    std::optional<OutputDelivery> delivery = {};
    std::optional<Descriptor> file = {};  // what comes from it
    uint64_t file_left = 0;
    std::string trouble = {};  // why it is not kept
  };
  enum class Goes : uint8_t { on, waits, away };

  FileServer(std::unique_ptr<const BlobShelf> shelf, FileServerOptions options, Descriptor listener,
             int port)
      : shelf_(std::move(shelf)),
        options_(std::move(options)),
        listener_(std::move(listener)),
        port_(port) {}

  bool is_crowded() const;
  void accept_all(Clock::Time now);
  // False when it is over with the caller.
  bool serve(Caller& caller, Clock::Time now);
  Goes tell(Caller& caller) const;
  Goes send_blob(Caller& caller) const;
  Goes hear(Caller& caller) const;
  // What has come is dealt with; false: there is not enough of it yet.
  bool take(Caller& caller);
  void take_bytes(Caller& caller);
  void take_call(Caller& caller, const FileCall& call);
  void begin_blob(Caller& caller, const std::string& digest);
  void begin_outputs(Caller& caller, const std::string& task);
  void begin_file(Caller& caller, const PutOutput& output);
  void end_outputs(Caller& caller);

  const std::unique_ptr<const BlobShelf> shelf_;
  const FileServerOptions options_;
  Descriptor listener_;
  int port_;
  uint64_t num_kept_ = 0;
  std::map<int, Caller> callers_;  // by descriptor
  // The system has no descriptors for more callers: who knocks is not looked at until something
  // else has happened.
  bool is_short_ = false;
  std::vector<std::string> notes_;
};

}  // namespace millrace

// Serves the folder of a job's launcher (job_folder.h) to the job's containers and to who submitted
// it, where machines share no folder: folder_calls.h says what is asked. One poll loop, no thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/yarn/folder_calls.h"

namespace millrace {

struct FolderServerOptions {
  std::string folder = {};
  std::string token = {};
  // What is given to whoever comes by the door; links in it are followed. Empty: there is none.
  std::string door = {};
  std::string sent = {};
  // So many may be connected; with one more, whoever has been silent longest has to go. A task that
  // has to asks again.
  size_t most_callers = 4096;
};

class FolderServer {
 public:
  // At a free port of all of this machine's addresses. Errors: UNAVAILABLE with what the system
  // says.
  static Result<FolderServer> listen(FolderServerOptions options);

  int port() const { return port_; }

  // Deals with what happens within the time, or once something has.
  void turn(int milliseconds);
  // Serves in a process of its own from now on, which ends with this one. From a process with one
  // thread: it forks. Errors: RESOURCE_EXHAUSTED.
  Result<pid_t> serve_beside();

  // What is answered to a call.
  std::string answer(const FolderCall& call) const;

 private:
  FolderServer(FolderServerOptions options, Descriptor listener, int port)
      : options_(std::move(options)), listener_(std::move(listener)), port_(port) {}

  struct Caller {
    Descriptor socket;
    FolderCalls calls;
    std::string answers = {};  // not sent yet
    uint64_t heard = 0;        // larger: later
    Descriptor file = {};      // what is sent behind them, as long as it is open
    off_t file_at = 0;
    uint64_t file_left = 0;

    bool is_busy() const { return !answers.empty() || file.is_open(); }
  };
  void accept_callers();
  // These: false when it is gone.
  bool hear(Caller& caller);
  bool take(Caller& caller);
  bool tell(Caller& caller);
  bool tell_file(Caller& caller);
  void fetch(Caller& caller, const FolderCall& call) const;
  std::string read(const std::vector<FilePart>& wanted) const;
  std::string write(const FilePart& part, std::string_view bytes) const;

  FolderServerOptions options_;
  Descriptor listener_;
  int port_;
  std::map<int, Caller> callers_;  // by the number of the socket
  uint64_t times_heard_ = 0;
};

}  // namespace millrace

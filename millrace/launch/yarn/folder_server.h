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

class FolderServer {
 public:
  // So many may be connected; with one more, whoever has been silent longest has to go. A task that
  // has to asks again.
  static constexpr size_t kMostCallers = 4096;

  // At a free port of all of this machine's addresses. Errors: UNAVAILABLE with what the system
  // says.
  static Result<FolderServer> listen(std::string folder, std::string token,
                                     size_t most_callers = kMostCallers);

  int port() const { return port_; }

  // Deals with what happens within the time, or once something has.
  void turn(int milliseconds);
  // Serves in a process of its own from now on, which ends with this one. From a process with one
  // thread: it forks. Errors: RESOURCE_EXHAUSTED.
  Result<pid_t> serve_beside();

  // What is answered to a call.
  std::string answer(const FolderCall& call) const;

 private:
  FolderServer(std::string folder, std::string token, Descriptor listener, int port,
               size_t most_callers)
      : folder_(std::move(folder)),
        token_(std::move(token)),
        listener_(std::move(listener)),
        port_(port),
        most_callers_(most_callers) {}

  struct Caller {
    Descriptor socket;
    FolderCalls calls;
    std::string answers = {};  // not sent yet
    uint64_t heard = 0;        // larger: later
  };
  void accept_callers();
  // False when it is gone.
  bool hear(Caller& caller);
  static bool tell(Caller& caller);
  std::string read(const std::vector<FilePart>& wanted) const;
  std::string write(const FilePart& part, std::string_view bytes) const;

  std::string folder_;
  std::string token_;
  Descriptor listener_;
  int port_;
  std::map<int, Caller> callers_;  // by the number of the socket
  uint64_t times_heard_ = 0;
  size_t most_callers_;
};

}  // namespace millrace

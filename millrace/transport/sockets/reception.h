// Reception: accepted connections that have not said yet what they speak.
//
// It looks at the first bytes of each without taking them, and hands the connection on to who
// serves that; what nobody serves is told so and closed, with a line in the log now and then. A
// connection that brings its first bytes along is handed on at once. Nothing here blocks: whoever
// owns it waits for descriptor() to be readable, or for until(), and calls look(). Waiting costs a
// descriptor and no thread; who says nothing is dropped after a while, and the one that has waited
// longest when too many wait.
//
// Touched by one thread. Time is an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"

#include "millrace/base/host.h"
#include "millrace/transport/sockets/file_descriptor.h"
#include "millrace/transport/sockets/opening.h"

namespace millrace::transport {

// Who takes connections that begin in one way.
struct Taker {
  Opening opening;
  // Gets each of them with all its bytes still to be read, and owns it.
  absl::AnyInvocable<void(FileDescriptor)> take;
};

class Reception {
 public:
  struct Options {
    // As long as gRPC gave a connection to begin.
    Clock::Duration patience = std::chrono::seconds(40);
    size_t most_waiting = 512;
    Clock::Duration pause_between_lines = std::chrono::seconds(10);
  };
  Reception(const Host& host, std::vector<Taker> takers);
  Reception(const Host& host, std::vector<Taker> takers, Options options);

  // A connection that does not block. Hands it on, closes it or keeps it.
  void admit(FileDescriptor connection, Clock::Time now);
  // Looks after those whose first bytes have come, and those that have waited too long.
  void look(Clock::Time now);

  // Readable when look() has something to do; -1 if the system gives none: then connections that
  // bring no bytes along are closed.
  int descriptor() const { return events_.get(); }
  // When look() is to be called even if nothing comes; nothing while nobody waits.
  std::optional<Clock::Time> until() const;
  size_t num_waiting() const { return waiting_.size(); }

 private:
  struct Guest {
    FileDescriptor connection;
    Clock::Time since;
  };
  // By the order in which they came, so that the first has waited longest.
  using Guests = std::map<uint64_t, Guest>;

  Opening opening_of_next(const FileDescriptor& connection);
  void decide(FileDescriptor connection, Opening opening, Clock::Time now);
  void keep(FileDescriptor connection, Clock::Time now);
  FileDescriptor leave(Guests::iterator guest);
  void tell(std::string_view what, const std::string& who, Clock::Time now);

  const Host host_;
  const FileDescriptor events_;  // an epoll
  const Options options_;
  std::vector<Taker> takers_;
  Guests waiting_;
  uint64_t num_admitted_ = 0;
  std::optional<Clock::Time> last_line_;
  int num_left_out_ = 0;  // lines, since the last one
};

}  // namespace millrace::transport

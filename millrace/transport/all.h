// Transports: every way between tasks that Millrace has, by scheme. all.cc is the list.
//
// Owned by the Runtime, one per process. Thread-safe: the list never changes.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "millrace/transport/transport.h"

namespace millrace {

struct Host;  // base/host.h

class Transports {
 public:
  // `host` outlives what they make. `direct` as of GrpcTransport.
  explicit Transports(const Host& host, bool direct = true);

  // What the tasks of a cluster speak: the first of the list.
  Transport& between_tasks() const { return *all_.front(); }
  // By the scheme of `target`: "scheme://...".
  // Errors: INVALID_ARGUMENT if there is none, or no transport has it.
  Result<Transport*> of(std::string_view target) const;

 private:
  const std::vector<std::unique_ptr<Transport>> all_;
};

}  // namespace millrace

// ReceivedCall: one call that a peer makes to us, as the handler of its method sees it, whatever
// carried it. What a transport implements for calls that come in; served_methods.h puts the methods
// of a task's master and worker on top of it.
//
// Handlers share it for as long as they owe the answer. Any thread may answer, once. A call that is
// cancelled tells so through its Call and still waits for its answer, which is then dropped.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "millrace/cluster/services.h"
#include "millrace/format/pieces.h"
#include "millrace/transport/protocol/chunks.h"

namespace millrace::transport {

class ReceivedCall {
 public:
  virtual ~ReceivedCall() = default;

  virtual std::string_view method() const = 0;
  // There until it is dropped.
  virtual Chunks request() const = 0;
  virtual void drop_request() = 0;
  // What accompanies the request, for a service.
  virtual Call call() = 0;

  virtual void answer(Result<wire::Pieces> reply) = 0;
  // Several messages where the caller knows to expect them. At least one.
  virtual void answer_in_parts(std::vector<wire::Pieces> parts) = 0;
};

// What is served, by its path. A handler answers the call, now or later.
using Handler = std::function<void(std::shared_ptr<ReceivedCall>)>;
using ServedMethods = std::map<std::string_view, Handler>;

}  // namespace millrace::transport

// Surroundings: what the place where a program makes a node says of it: the name scope, devices,
// colocation, control dependencies, and the conditional or loop that it stands in.
//
// A value. A C++ Scope has its own; a front-end with blocks (`with tf.device(…)`) changes those of
// the Builder as it enters and leaves them. The rules are TensorFlow's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"

#include "millrace/base/result.h"
#include "millrace/op/device_name.h"
#include "millrace/op/endpoint.h"

namespace millrace {

// Chooses the device of a node that has just been made and asks for what inner scopes say.
using DeviceFunction = std::function<Result<DeviceName>(NodeId)>;

// Device scopes, outermost first. Immutable once shared: copies are cheap.
class DeviceStack {
 public:
  struct Entry {
    enum class Kind : uint8_t { spec, function, reset };
    Kind kind = Kind::reset;  // of all scopes outside
    DeviceName spec = {};
    DeviceFunction function = nullptr;
  };

  bool empty() const { return entries_ == nullptr; }
  DeviceStack with(Entry entry) const;
  // What all scopes say together, inner ones winning part by part; not if functions have a say.
  const std::string& text() const { return text_; }
  bool asks_functions() const { return asks_functions_; }
  // None if it is empty.
  const std::vector<Entry>& entries() const;

 private:
  std::shared_ptr<const std::vector<Entry>> entries_;
  std::string text_;
  bool asks_functions_ = false;
};

// How nested scopes write what they say together: without a type, an index means nothing.
std::string device_text(DeviceName device);

// Nodes that are made inside run after `nodes`.
struct ControlScope {
  std::vector<NodeId> nodes;
  absl::flat_hash_set<NodeId> seen = {};  // made inside: what depends on one depends on `nodes`
};

// The conditional or loop that a node stands in; the objects are the front-end's.
class FlowContext {
 public:
  virtual ~FlowContext() = default;
  // Lets values and what is waited for into the conditional or loop: puts what stands for them
  // there in their place. May add nodes.
  virtual Status admit(std::vector<Endpoint>& inputs, std::vector<NodeId>& before) = 0;
  // A node was made inside.
  virtual void added(NodeId node) = 0;
};

struct Surroundings {
  std::string name_scope = {};  // "outer/inner"
  DeviceStack devices = {};
  std::vector<NodeId> colocated_with =
      {};                                // the innermost last; if there is any, its device counts
  std::vector<std::string> groups = {};  // "loc:@x": colocation with nodes yet to be made
  std::vector<std::shared_ptr<ControlScope>> controls = {};  // the innermost last
  std::shared_ptr<FlowContext> flow = nullptr;
  // Control flow's own nodes get just the inputs that they are given.
  bool is_plumbing = false;

  // `name` inside of the name scope.
  std::string inside(std::string_view name) const;
};

}  // namespace millrace

// SentCluster: the cluster that a client sent along with its session, as all members of the session
// are told of it.
//
// Shared and immutable: telling a thousand members of a thousand tasks takes one ClusterSpec and
// one encoding of it. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "millrace/cluster/cluster_spec.h"
#include "millrace/tensor/buffer.h"

namespace millrace {

class SentCluster {
 public:
  explicit SentCluster(ClusterSpec spec) : spec_(std::move(spec)) {}

  const ClusterSpec& spec() const { return spec_; }

  // The spec in a protocol's form. `encode` makes it from the spec with the first call; later ones
  // get the same bytes, so all callers must mean the same form.
  template <class Encode>
  const std::shared_ptr<Buffer>& encoded(Encode encode) const {
    std::call_once(once_, [&] { encoded_ = encode(spec_); });
    return encoded_;
  }

 private:
  const ClusterSpec spec_;
  mutable std::once_flag once_;
  mutable std::shared_ptr<Buffer> encoded_;
};

}  // namespace millrace

#include "millrace/engine/client_transfers.h"

#include <utility>

namespace millrace {
namespace {

class FeedKernel final : public Kernel {
 public:
  FeedKernel(size_t slot, std::string name, FeedTakers takers)
      : slot_(slot), name_(std::move(name)), takers_(takers) {}

  Status run(KernelContext& context) override {
    const std::span<const Tensor> feeds = context.step().feeds;
    if (slot_ >= feeds.size() || !feeds[slot_].has_value())
      return invalid("the step has no value for its feed '", name_, "'");
    if (feeds[slot_].dtype() != context.output_dtype(0))
      return invalid("the value fed for '", name_, "' is ", dtype_name(feeds[slot_].dtype()),
                     "; the graph says ", dtype_name(context.output_dtype(0)));
    const std::span<Tensor> own = static_cast<FedContext&>(context.step()).own_feeds;
    const bool takes = takers_ == FeedTakers::one && slot_ < own.size();
    if (takes) {
      context.set_output(0, std::move(own[slot_]));
    } else {
      context.set_output(0, feeds[slot_]);
    }
    return {};
  }

 private:
  const size_t slot_;
  const std::string name_;
  const FeedTakers takers_;
};

class FetchKernel final : public Kernel {
 public:
  explicit FetchKernel(size_t slot) : slot_(slot) {}

  Status run(KernelContext& context) override {
    const std::span<Delivery> fetches = context.step().fetches;
    if (slot_ >= fetches.size())
      return internal("the step has room for ", fetches.size(), " fetches and fetches number ",
                      slot_);
    fetches[slot_].is_dead = context.input_is_dead();
    if (!context.input_is_dead()) fetches[slot_].tensor = context.take_input(0);
    return {};
  }

 private:
  const size_t slot_;
};

}  // namespace

Result<std::string> client_key(const Node& node) {
  if (node.op->role != Role::send && node.op->role != Role::receive) return std::string();
  const AttrView attrs = node.attr_view();
  MR_ASSIGN(const bool client_terminated, attrs.boolean("client_terminated").with(node.name));
  if (!client_terminated) return std::string();
  MR_ASSIGN(const std::string source, attrs.string("send_device").with(node.name));
  MR_ASSIGN(const std::string destination, attrs.string("recv_device").with(node.name));
  if (source != destination) return std::string();
  MR_ASSIGN(const int64_t incarnation, attrs.integer("send_device_incarnation").with(node.name));
  MR_ASSIGN(const std::string tensor, attrs.string("tensor_name").with(node.name));
  return RendezvousKey::make(source, static_cast<uint64_t>(incarnation), destination, tensor).text;
}

std::unique_ptr<Kernel> make_feed_kernel(size_t slot, std::string name, FeedTakers takers) {
  return std::make_unique<FeedKernel>(slot, std::move(name), takers);
}

std::unique_ptr<Kernel> make_fetch_kernel(size_t slot) {
  return std::make_unique<FetchKernel>(slot);
}

}  // namespace millrace

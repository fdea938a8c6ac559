#include "millrace/worker/peer_fetcher.h"

#include <utility>

#include "millrace/op/rendezvous.h"

namespace millrace {

PeerFetcher::PeerFetcher(const TaskName& own_task, std::shared_ptr<MemberWorkers> members,
                         Random& random)
    : own_prefix_(own_task.to_string() + "/"), members_(std::move(members)), random_(random) {}

bool PeerFetcher::is_local(std::string_view key) const {
  // An empty source means this task as well.
  return key.starts_with(own_prefix_) || key.starts_with(';');
}

Result<std::shared_ptr<WorkerService>> PeerFetcher::peer_of(std::string_view key) const {
  MR_ASSIGN(const auto parts, RendezvousKey::parse(key));
  if (!parts.source.names_task())
    return invalid("Invalid  rendezvous key: ", key, " (its source names no task)");
  const TaskName task = parts.source.task_name();
  MutexLock lock(mutex_);
  if (const auto found = peers_.find(task); found != peers_.end()) return found->second;
  const Status address = members_->members().address(task).status();
  if (address.code() == Code::not_found)
    return internal("No worker known as ", task.to_string(), ": ", address.message());
  MR_ASSIGN(auto peer, members_->worker(task));
  peers_.emplace(task, peer);
  return peer;
}

void PeerFetcher::fetch(WorkerService& peer, int64_t step_id, std::string_view key,
                        Cancellation* cancellation, Done<RecvTensorReply> done) const {
  // TensorFlow's workers refuse an id that they have seen, so each request has its own.
  const auto request_id = static_cast<int64_t>(random_.next());
  peer.recv_tensor(
      {.step_id = step_id, .rendezvous_key = std::string(key), .request_id = request_id},
      {.cancellation = cancellation}, std::move(done));
}

}  // namespace millrace

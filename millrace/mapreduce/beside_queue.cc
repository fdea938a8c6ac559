#include "millrace/mapreduce/beside_queue.h"

#include "millrace/api/scope.h"

namespace millrace::mapreduce {

Result<std::unique_ptr<BesideQueue>> BesideQueue::create(std::shared_ptr<Runtime> runtime,
                                                         const ResultQueue& queue) {
  GraphBuilder graph(runtime->ops());
  Filling filling(graph.root(), queue);
  MR_ASSIGN(auto session, Session::create(queue.target, {}, std::move(runtime)));
  MR_TRY(session->extend(graph));
  return std::unique_ptr<BesideQueue>(new BesideQueue(std::move(session), std::move(filling)));
}

BesideQueue::~BesideQueue() {
  if (is_open_) filling_.cancel(*session_);
}

Status BesideQueue::begin(const Workshop& workshop) {
  MR_TRY(workshop.check_nothing_was_put());
  MR_TRY(filling_.check(*session_));
  is_open_ = true;
  return {};
}

Status BesideQueue::fill(Files& files, const std::vector<std::string>& parts) {
  const auto step = [this](const std::string& target, Session::Feeds feeds) {
    return session_->run(std::move(feeds), {}, {.targets = {target}}).status();
  };
  for (const std::string& part : parts) MR_TRY(filling_.put_file(files, part, step));
  MR_TRY(filling_.close(*session_));
  is_open_ = false;
  return {};
}

}  // namespace millrace::mapreduce

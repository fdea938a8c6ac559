#include "millrace/mapreduce/shared_queues.h"

#include <array>
#include <chrono>
#include <utility>

#include "millrace/api/input.h"
#include "millrace/api/ops/array.h"
#include "millrace/api/ops/state.h"
#include "millrace/mapreduce/roles.h"
#include "millrace/session/server.h"
#include "millrace/tensor/tensor.h"

namespace millrace::mapreduce {

namespace {

std::string owner_job() { return str_cat("/job:", kOwnerJob); }

// All queues hold one text for each element, as many as come.
millrace::Output text_queue(const Scope& scope, std::string name) {
  return ops::fifo_queue_v2(scope, {DType::string},
                            {.shapes = std::vector{PartialShape::scalar()},
                             .capacity = -1,
                             .shared_name = std::move(name)});
}

}  // namespace

SharedQueues::SharedQueues(std::unique_ptr<Session> session, Nodes nodes,
                           std::optional<Filling> filling)
    : session_(std::move(session)), nodes_(std::move(nodes)), filling_(std::move(filling)) {}

Result<SharedQueues::Nodes> SharedQueues::build(GraphBuilder& graph, const Job& job) {
  const Scope scope = graph.root().device(owner_job() + "/task:0");
  const auto seconds = std::chrono::duration<float>(job.lease).count();
  const millrace::Output text =
      ops::placeholder(scope, DType::string, {.shape = PartialShape::scalar()});
  const millrace::Output lease =
      ops::placeholder(scope, DType::string, {.shape = PartialShape::scalar()});
  Nodes nodes{.text = text.name(),
              .lease = lease.name(),
              .under = ops::step_lease(scope, lease).op().name()};
  const std::array kinds = {std::pair{PieceKind::map, "/map"},
                            std::pair{PieceKind::reduce, "/reduce"},
                            std::pair{PieceKind::publish, "/publish"}};
  for (const auto& [kind, suffix] : kinds) {
    const millrace::Output queue = text_queue(scope, job.name + suffix);
    const auto lent = ops::queue_lend(scope, queue, "", {DType::string},
                                      {.seconds = seconds, .attempts = job.attempts});
    if (lent.components.empty()) break;  // the builder knows why
    nodes.work[static_cast<size_t>(kind)] = {
        .put = ops::queue_enqueue_v2(scope, queue, {text}).name(),
        .take = lent.components.front().name(),
        .lease = lent.lease.name(),
        .attempt = lent.attempt.name(),
        .extend = ops::queue_extend_lease(scope, queue, lease, {.seconds = seconds}).name(),
        .end = ops::queue_end_lease(scope, queue, lease).name(),
        .close = ops::queue_close_v2(scope, queue).name(),
        .cancel = ops::queue_close_v2(scope, queue, {.cancel_pending_enqueues = true}).name(),
        .is_closed = ops::queue_is_closed_v2(scope, queue).name(),
        .num_dead = ops::queue_leases(scope, queue).dead.name(),
        .dead = ops::queue_dead_letter(scope, queue, {DType::string}).front().name(),
        .size = ops::queue_size_v2(scope, queue).name()};
  }
  const millrace::Output reports = text_queue(scope, job.name + "/reports");
  nodes.report = ops::queue_enqueue_v2(scope, reports, {text}).name();
  const auto next = ops::queue_dequeue_v2(scope, reports, {DType::string});
  if (!next.empty()) nodes.next_report = next.front().name();
  nodes.close_reports = ops::queue_close_v2(scope, reports).name();
  MR_TRY(graph.status());
  return nodes;
}

Result<std::unique_ptr<SharedQueues>> SharedQueues::create(Server& server, const Job& job,
                                                           Reach reach) {
  std::vector<std::string> filters = {owner_job()};
  GraphBuilder graph(server.runtime()->ops());
  MR_ASSIGN(Nodes nodes, build(graph, job));
  std::optional<Filling> filling;
  if (reach == Reach::results && job.output.queue()) {
    filling.emplace(graph.root(), *job.output.queue());
    filters.push_back(job.output.queue()->task);
  }
  MR_ASSIGN(auto session, Session::create(server, {.device_filters = std::move(filters)}));
  MR_TRY(session->extend(graph));
  return std::unique_ptr<SharedQueues>(
      new SharedQueues(std::move(session), std::move(nodes), std::move(filling)));
}

Status SharedQueues::run(const std::string& target, Session::Feeds feeds) {
  return session_->run(std::move(feeds), {}, {.targets = {target}}).status();
}

Result<SharedQueues::Loan> SharedQueues::take(PieceKind kind) {
  const Work& work = work_of(kind);
  MR_ASSIGN(const std::vector<Tensor> lent,
            session_->run({}, {work.take, work.lease, work.attempt}));
  Loan loan{.kind = kind,
            .text = lent[0].item<std::string>(),
            .lease = lent[1].item<std::string>(),
            .attempt = lent[2].item<int32_t>()};
  MR_ASSIGN(const OnceBook::Step taken, loan.steps.begin(OnceBook::Kind::takes, 0));
  MR_TRY(loan.steps.end(taken, {}, loan.lease).status());
  return loan;
}

Result<bool> SharedQueues::extend(const Loan& loan) {
  MR_ASSIGN(
      const std::vector<Tensor> held,
      session_->run({{nodes_.lease, Tensor::scalar(loan.lease)}}, {work_of(loan.kind).extend}));
  return held.front().item<bool>();
}

// A piece is made by the same steps in the same order each time, so their numbers tell them apart.
Status SharedQueues::update(Loan& loan, const std::string& target, Session::Feeds feeds) {
  MR_ASSIGN(const OnceBook::Step step, loan.steps.begin(OnceBook::Kind::updates, 1));
  feeds.push_back({nodes_.lease, Tensor::scalar(step.lease)});
  Status updated =
      session_->run(std::move(feeds), {}, {.targets = {target, nodes_.under}}).status();
  MR_TRY(loan.steps.end(step, updated, {}).status());
  return updated;
}

Status SharedQueues::report(Loan& loan, const std::string& text) {
  return update(loan, nodes_.report, {{nodes_.text, Tensor::scalar(text)}});
}

Status SharedQueues::put_results(Loan& loan, Files& files, const std::string& path) {
  return filling_->put_file(files, path, [&](const std::string& target, Session::Feeds feeds) {
    return update(loan, target, std::move(feeds));
  });
}

Status SharedQueues::check_results() { return filling_->check(*session_); }
Status SharedQueues::close_results() { return filling_->close(*session_); }
void SharedQueues::cancel_results() { filling_->cancel(*session_); }

Result<bool> SharedQueues::is_closed(PieceKind kind) {
  MR_ASSIGN(const std::vector<Tensor> values, session_->run({}, {work_of(kind).is_closed}));
  return values.front().item<bool>();
}

Status SharedQueues::acknowledge(const Loan& loan) {
  return run(work_of(loan.kind).end, {{nodes_.lease, Tensor::scalar(loan.lease)}});
}

Status SharedQueues::say(const std::string& text) {
  return run(nodes_.report, {{nodes_.text, Tensor::scalar(text)}});
}

Status SharedQueues::put(PieceKind kind, const std::string& text) {
  return run(work_of(kind).put, {{nodes_.text, Tensor::scalar(text)}});
}

Result<std::string> SharedQueues::next_report() {
  MR_ASSIGN(const std::vector<Tensor> values, session_->run({}, {nodes_.next_report}));
  return values.front().item<std::string>();
}

Result<int64_t> SharedQueues::num_waiting(PieceKind kind) {
  MR_ASSIGN(const std::vector<Tensor> values, session_->run({}, {work_of(kind).size}));
  return values.front().item<int32_t>();
}

Result<std::optional<std::string>> SharedQueues::dead(PieceKind kind) {
  MR_ASSIGN(const std::vector<Tensor> count, session_->run({}, {work_of(kind).num_dead}));
  if (count.front().item<int32_t>() == 0) return std::optional<std::string>();
  MR_ASSIGN(const std::vector<Tensor> letter, session_->run({}, {work_of(kind).dead}));
  return std::optional<std::string>(letter.front().item<std::string>());
}

Status SharedQueues::close(PieceKind kind) { return run(work_of(kind).close); }

void SharedQueues::cancel_all() {
  // The last kind first: who finds another closed looks at this one.
  for (const PieceKind kind : {PieceKind::publish, PieceKind::reduce, PieceKind::map})
    static_cast<void>(run(work_of(kind).cancel));
  static_cast<void>(run(nodes_.close_reports));
}

}  // namespace millrace::mapreduce

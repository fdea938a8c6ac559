// Part of program.h: the steps that a program asks for.
#include <algorithm>
#include <utility>

#include "tests/simulation/program.h"

namespace millrace::simulation {

using std::chrono::milliseconds;

void Program::run_chain() {
  const size_t last = world_.draw(fleet_.sites().size());
  const auto value = static_cast<float>(world_.draw(1000) + 1);
  RunStepRequest request;
  request.feeds.push_back({"f:0", Tensor::scalar(value)});
  request.fetches.push_back(str_cat(chain_node(last), ":0"));
  const std::string what = str_cat("run ", chain_node(last));
  run(what, std::move(request), world_.chance(0.5) ? draw_limit() : milliseconds(0),
      [this, what, expected = last % 2 == 0 ? -value : value](const auto& reply) {
        if (!reply.ok()) return;
        if (reply->tensors.size() != 1 || reply->tensors[0] != Tensor::scalar(expected))
          shared_.complain(str_cat(name_, " ", what, " brought something else"));
      });
}

void Program::put(size_t queues) {
  RunStepRequest request;
  std::vector<std::pair<std::string, uint64_t>> where;
  const int64_t id = ++shared_.last_id;
  std::string what = str_cat("put ", id);
  for (size_t i = 0; i < queues; ++i) {
    const size_t site = world_.draw(fleet_.sites().size());
    const std::string& name = fleet_.sites()[site];
    const std::string target = str_cat("put", site);
    if (std::ranges::find(request.targets, target) != request.targets.end()) continue;
    str_append(&what, " at ", name);
    request.feeds.push_back({str_cat("id", site, ":0"), Tensor::scalar(id)});
    request.targets.push_back(target);
    where.emplace_back(name, shared_.oracle.life(name));
    shared_.oracle.sends(name, id);
  }
  const Clock::Time sent = world_.now();
  run(what, std::move(request), world_.chance(0.5) ? draw_limit() : milliseconds(0),
      [this, id, where, sent](const auto& reply) {
        if (!reply.ok()) return;
        for (const auto& [site, life] : where) shared_.oracle.keeps(site, id, life, sent);
      });
}

void Program::take() {
  const size_t site = world_.draw(fleet_.sites().size());
  const std::string name = fleet_.sites()[site];
  RunStepRequest request;
  request.fetches.push_back(str_cat("take", site, ":0"));
  run(str_cat("take from ", name), std::move(request), draw_limit(),
      [this, name](const Result<RunStepReply>& reply) {
        if (!reply.ok()) return shared_.oracle.may_take(name);
        const std::string wrong =
            shared_.oracle.takes(name, reply->tensors[0].template item<int64_t>());
        if (!wrong.empty()) shared_.complain(wrong);
      });
}

void Program::assign() {
  const size_t site = world_.draw(fleet_.sites().size());
  const std::string name = fleet_.sites()[site];
  const int64_t id = ++shared_.last_id;
  RunStepRequest request;
  request.feeds.push_back({str_cat("id", site, ":0"), Tensor::scalar(id)});
  request.targets.push_back(str_cat("set", site));
  shared_.oracle.assigns(name, id, world_.now());
  run(str_cat("assign ", id, " at ", name), std::move(request),
      world_.chance(0.5) ? draw_limit() : milliseconds(0),
      [this, id, name, life = shared_.oracle.life(name)](const auto& reply) {
        if (reply.ok()) shared_.oracle.has_assigned(name, id, life, world_.now());
      });
}

void Program::read() {
  const size_t site = world_.draw(fleet_.sites().size());
  const std::string name = fleet_.sites()[site];
  RunStepRequest request;
  request.fetches.push_back(str_cat("v", site, ":0"));
  const uint64_t life = shared_.oracle.life(name);
  const Ticket asked = run(str_cat("read at ", name), std::move(request),
                           world_.chance(0.5) ? draw_limit() : milliseconds(0),
                           [this, name, life, since = world_.now()](const auto& reply) {
                             if (!reply.ok()) return;
                             const auto value = reply->tensors[0].template item<int64_t>();
                             const auto wrong = shared_.oracle.reads(name, value, life, since);
                             if (!wrong.empty()) shared_.complain(wrong);
                           });
  asked->asked.reads_at = name;
  asked->asked.life = life;
}

void Program::wait_in_vain() {
  const size_t site = world_.draw(fleet_.sites().size());
  RunStepRequest request;
  request.fetches.push_back(str_cat("never", site, ":0"));
  run(str_cat("wait in vain at ", fleet_.sites()[site]), std::move(request), draw_limit(),
      [this](const Result<RunStepReply>& reply) {
        if (reply.ok()) shared_.complain(str_cat(name_, " got what nobody put anywhere"));
      });
}

void Program::call() {
  const SessionPtr session = session_;
  if (session->callable == 0) {
    auto asked = ticket("make a callable", milliseconds(0));
    MakeCallableRequest request{session->handle, {"f:0"}, {"c1:0"}, {}, {}};
    return client_->master().make_callable(
        std::move(request), {},
        judged<MakeCallableReply>(std::move(asked), [session](const auto& reply) {
          if (reply.ok()) session->callable = reply->handle;
        }));
  }
  // A call that is under way may be overtaken.
  if (waiting_.empty() && world_.chance(0.1)) {
    auto asked = ticket("release a callable", milliseconds(0));
    return client_->master().release_callable(
        {session->handle, std::exchange(session->callable, 0)}, {}, judged<void>(std::move(asked)));
  }
  auto asked = ticket("call", milliseconds(0));
  const auto value = static_cast<float>(world_.draw(1000));
  RunCallableRequest request{session->handle, session->callable, {Tensor::scalar(value)}};
  client_->master().run_callable(
      std::move(request), {},
      judged<RunCallableReply>(std::move(asked), [this, value](const auto& reply) {
        if (reply.ok() &&
            (reply->tensors.size() != 1 || reply->tensors[0] != Tensor::scalar(value)))
          shared_.complain(str_cat(name_, " called, and got something else"));
      }));
}

void Program::run_partially() {
  const SessionPtr session = session_;
  if (session->partial_run.empty()) {
    session->had_failed_leg = false;
    auto asked = ticket("set up a partial run", milliseconds(0));
    PartialRunSetupRequest request{session->handle, {"f:0", "g:0"}, {"c0:0", "sum:0"}, {}};
    return client_->master().partial_run_setup(
        std::move(request), {},
        judged<PartialRunSetupReply>(std::move(asked),
                                     [session, since = world_.now()](const auto& reply) {
                                       if (!reply.ok()) return;
                                       session->partial_run = reply->partial_run_handle;
                                       session->partial_since = since;
                                       session->partial_legs = 0;
                                     }));
  }
  if (std::exchange(session->has_open_leg, true)) return;
  RunStepRequest request;
  request.partial_run_handle = session->partial_run;
  const bool is_last = session->partial_legs++ > 0;
  request.feeds.push_back({is_last ? "g:0" : "f:0", Tensor::scalar(1.0F)});
  request.fetches.push_back(is_last ? "sum:0" : "c0:0");
  if (is_last) session->partial_run.clear();
  const Ticket asked =
      run(is_last ? "run the last leg" : "run a leg", std::move(request),
          world_.chance(0.5) ? draw_limit() : milliseconds(0),
          [this, session, is_last](const Result<RunStepReply>& reply) {
            session->has_open_leg = false;
            if (!reply.ok()) {
              session->had_failed_leg = true;
              session->partial_run.clear();
            } else if (reply->tensors[0] != Tensor::scalar(is_last ? 0.0F : -1.0F)) {
              shared_.complain(str_cat(name_, " got something else from a leg"));
            }
          });
  // What happens between two legs is told to the second.
  asked->asked.since = session->partial_since;
}

}  // namespace millrace::simulation

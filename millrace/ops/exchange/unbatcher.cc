#include "millrace/ops/exchange/unbatcher.h"

#include <algorithm>
#include <utility>

namespace millrace {

Unbatcher::Unbatcher(Clock::Duration patience, std::shared_ptr<const DeviceTime> time,
                     std::string name)
    : patience_(patience), time_(std::move(time)), name_(std::move(name)), parts_(Turns::any) {}

Unbatcher::~Unbatcher() { parts_.close(cancelled("unbatcher '", name_, "' was dropped")); }

Timers::Timer Unbatcher::remind() {
  if (time_ == nullptr) return {};
  return time_->timers().at(now() + patience_, [weak = weak_from_this(), time = time_] {
    time->pool().post([weak] {
      if (const auto self = weak.lock()) self->look_again();
    });
  });
}

void Unbatcher::look_again() {
  const bool keeps = parts_.change([now = now()](Parts& parts) {
    parts.now = now;
    std::erase_if(parts.kept, [now](const auto& each) { return each.second.until <= now; });
    return !parts.kept.empty();
  });
  {
    MutexLock lock(mutex_);
    is_watching_ = false;
  }
  if (keeps) keep_watch();
}

void Unbatcher::keep_watch() {
  MutexLock lock(mutex_);
  if (std::exchange(is_watching_, true)) return;
  watch_ = remind();
}

Status Unbatcher::bring(std::vector<Part> parts) {
  // Of a batch's steps all but one: they have nobody look again for what hasn't come.
  if (parts.empty()) return {};
  Status status = parts_.change([&, until = now() + patience_](Parts& held) -> Status {
    for (Part& part : parts) {
      if (held.kept.try_emplace(part.id, Kept{std::move(part.rows), until}).second) continue;
      return error(Code::already_exists, "Multiple tensors returned for same batch key ", part.id);
    }
    return {};
  });
  const bool keeps = parts_.look([](const Parts& held) { return !held.kept.empty(); });
  if (keeps && time_ != nullptr) keep_watch();
  return status;
}

void Unbatcher::take(int64_t id, Cancellation* cancellation, Done<Tensor> done) {
  const auto taken = std::make_shared<Tensor>();
  const auto find = [id, taken](Parts& parts) {
    const auto found = parts.kept.find(id);
    if (found == parts.kept.end()) return false;
    *taken = std::move(found->second.rows);
    parts.kept.erase(found);
    return true;
  };
  const Status first = parts_.change([&](Parts& parts) -> Status {
    if (find(parts) || parts.wanted.insert(id).second) return {};
    return error(Code::already_exists, "Multiple session runs with the same batch key ", id);
  });
  if (!first.ok()) return done(first);
  if (taken->has_value()) return done(std::move(*taken));

  const bool is_timed = time_ != nullptr;
  auto attempt = [find, is_timed,
                  until = now() + patience_](Parts& parts) -> std::optional<Status> {
    if (find(parts)) return Status();
    if (!is_timed || parts.now < until) return std::nullopt;
    return error(Code::deadline_exceeded, "Batched data did not arrive within timeout window.");
  };
  Done<void> answer([self = shared_from_this(), id, taken, timer = remind(),
                     done = std::move(done)](Status status) mutable {
    (void)self->parts_.change([id](Parts& parts) { return parts.wanted.erase(id); });
    if (!status.ok()) return done(std::move(status));
    done(std::move(*taken));
  });
  parts_.attempt(std::move(attempt), cancellation,
                 cancelled("'", name_, "': Unbatch was cancelled").as_consequence(),
                 std::move(answer));
}

std::string Unbatcher::description() const {
  return parts_.look([&](const Parts& parts) {
    return str_cat("unbatcher '", name_, "': ", parts.kept.size(), " wait to be taken, ",
                   parts.wanted.size(), " are waited for");
  });
}

void Unbatcher::close(const Status& why) { parts_.close(why); }

GradientGatherer::GradientGatherer(std::string name)
    : name_(std::move(name)), gradients_(Turns::any) {}

GradientGatherer::~GradientGatherer() {
  gradients_.close(cancelled("gradient gatherer '", name_, "' was dropped"));
}

Tensor GradientGatherer::Gradients::extract(int64_t id) {
  auto found = brought.extract(id);
  if (!found) return {};
  kept.erase(found.mapped().number);
  dropped.erase(found.mapped().number);
  return std::move(found.mapped().gradient);
}

void GradientGatherer::Gradients::drop_oldest() {
  const auto oldest =
      std::ranges::find_if(kept, [&](const auto& each) { return !wanted.contains(each.second); });
  if (oldest == kept.end()) return;
  brought.at(oldest->second).gradient = {};
  dropped.insert(kept.extract(oldest));
  if (dropped.size() > kMostDropped) extract(dropped.begin()->second);
}

Status GradientGatherer::bring(int64_t id, Tensor gradient) {
  return gradients_.change([&](Gradients& gradients) -> Status {
    const auto found = gradients.brought.find(id);
    if (found != gradients.brought.end() && found->second.gradient.has_value())
      return invalid("Two runs with the same batch key ", id);
    gradients.extract(id);
    if (gradients.kept.size() >= kMostKept) gradients.drop_oldest();
    const uint64_t number = ++gradients.last;
    gradients.brought[id] = {std::move(gradient), number};
    gradients.kept[number] = id;
    return {};
  });
}

void GradientGatherer::take(std::vector<int64_t> ids, Cancellation* cancellation,
                            Done<std::vector<Tensor>> done) {
  const Status first = gradients_.change([&](Gradients& gradients) -> Status {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (gradients.wanted.insert(ids[i]).second) continue;
      for (size_t j = 0; j < i; ++j) gradients.wanted.erase(ids[j]);
      return invalid("Missing tensor wanted by more than one batch: ", ids[i]);
    }
    return {};
  });
  if (!first.ok()) return done(first);
  const auto taken = std::make_shared<std::vector<Tensor>>();
  auto attempt = [ids, taken](Gradients& gradients) -> std::optional<Status> {
    bool is_whole = true;
    for (const int64_t id : ids) {
      const auto found = gradients.brought.find(id);
      if (found == gradients.brought.end()) {
        is_whole = false;
      } else if (!found->second.gradient.has_value()) {
        // The others are nobody's any more.
        for (const int64_t each : ids) gradients.extract(each);
        return error(Code::resource_exhausted, "the gradient of batch key ", id,
                     " was dropped: more than ", kMostKept,
                     " wait for the steps that have their batches; have fewer steps run at once");
      }
    }
    if (!is_whole) return std::nullopt;
    for (const int64_t id : ids) taken->push_back(gradients.extract(id));
    return Status();
  };
  Done<void> answer([self = shared_from_this(), ids = std::move(ids), taken,
                     done = std::move(done)](Status status) mutable {
    (void)self->gradients_.change([&](Gradients& gradients) {
      for (const int64_t id : ids) gradients.wanted.erase(id);
      return 0;
    });
    if (!status.ok()) return done(std::move(status));
    done(std::move(*taken));
  });
  gradients_.attempt(std::move(attempt), cancellation,
                     cancelled("'", name_, "': UnbatchGrad was cancelled").as_consequence(),
                     std::move(answer));
}

std::string GradientGatherer::description() const {
  return gradients_.look([&](const Gradients& gradients) {
    return str_cat("gradient gatherer '", name_, "': ", gradients.kept.size(), " brought, ",
                   gradients.wanted.size(), " wanted");
  });
}

void GradientGatherer::close(const Status& why) { gradients_.close(why); }

}  // namespace millrace

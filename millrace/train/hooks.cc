#include "millrace/train/hooks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace millrace {
namespace {

Result<int64_t> read_step(Session& session, const std::string& global_step) {
  MR_ASSIGN(const auto values, session.run({}, {global_step}));
  return values[0].item<int64_t>();
}

// No value for types of which nothing can be said to be no number.
std::optional<bool> is_finite(const Tensor& value) {
  const auto all_are = [](auto elements) {
    return std::ranges::all_of(elements,
                               [](auto each) { return std::isfinite(static_cast<float>(each)); });
  };
  switch (value.dtype()) {
    case DType::f32:
      return all_are(value.flat<float>());
    case DType::f64:
      return std::ranges::all_of(value.flat<double>(),
                                 [](double each) { return std::isfinite(each); });
    case DType::f16:
      return all_are(value.flat<Half>());
    case DType::bf16:
      return all_are(value.flat<BFloat16>());
    default:
      return std::nullopt;
  }
}

}  // namespace

StopAtStep::StopAtStep(const Variable& global_step, int64_t last_step)
    : global_step_(global_step.value.name()), last_step_(last_step) {}

StepWishes StopAtStep::wanted() { return {.fetches = {global_step_}}; }

Result<AfterStep> StopAtStep::after_step(Session& session, const Host& /*host*/,
                                         std::span<const Tensor> values) {
  if (values[0].item<int64_t>() + 1 < last_step_) return AfterStep::go_on;
  MR_ASSIGN(const int64_t step, read_step(session, global_step_));
  return step >= last_step_ ? AfterStep::stop : AfterStep::go_on;
}

StepCounter::StepCounter(const Variable& global_step, Every every)
    : global_step_(global_step.value.name()), timer_(every) {}

StepWishes StepCounter::wanted() { return {.fetches = {global_step_}}; }

Result<AfterStep> StepCounter::after_step(Session& /*session*/, const Host& host,
                                          std::span<const Tensor> values) {
  const auto step = values[0].item<int64_t>();
  const Clock::Time now = host.clock.now();
  if (!timer_.is_due(step, now)) return AfterStep::go_on;
  if (const auto before = timer_.done(step, now)) {
    const double seconds = std::chrono::duration<double>(now - before->time).count();
    if (seconds > 0)
      host.log.info("global_step/sec: ", static_cast<double>(step - before->step) / seconds);
  }
  return AfterStep::go_on;
}

LogValues::LogValues(const Variable& global_step, const std::vector<Named>& values, Every every)
    : fetches_({global_step.value.name()}), timer_(every) {
  for (const Named& each : values) {
    names_.push_back(each.name);
    fetches_.push_back(each.value.name());
  }
}

StepWishes LogValues::wanted() { return {.fetches = fetches_}; }

Result<AfterStep> LogValues::after_step(Session& /*session*/, const Host& host,
                                        std::span<const Tensor> values) {
  const auto step = values[0].item<int64_t>();
  const Clock::Time now = host.clock.now();
  if (!timer_.is_due(step, now)) return AfterStep::go_on;
  timer_.done(step, now);
  std::string line = str_cat("step ", step, ":");
  for (size_t i = 0; i < names_.size(); ++i)
    str_append(&line, i == 0 ? " " : ", ", names_[i], " ", values[i + 1].to_string(4));
  host.log.info(line);
  return AfterStep::go_on;
}

FailAtNaN::FailAtNaN(const Output& loss) : loss_(loss.name()) {}

StepWishes FailAtNaN::wanted() { return {.fetches = {loss_}}; }

Result<AfterStep> FailAtNaN::after_step(Session& /*session*/, const Host& /*host*/,
                                        std::span<const Tensor> values) {
  const std::optional<bool> finite = is_finite(values[0]);
  if (!finite) {
    return invalid("'", loss_, "' is of ", dtype_name(values[0].dtype()),
                   ", and FailAtNaN looks at floats, doubles and short floats");
  }
  if (*finite) return AfterStep::go_on;
  return invalid("'", loss_, "' is ", values[0].to_string(4),
                 " during training: its learning rate may be too high, or its input not be finite");
}

SaveCheckpoints::SaveCheckpoints(std::shared_ptr<Saver> saver, const Variable& global_step,
                                 std::string folder, Every every, std::string name)
    : saver_(std::move(saver)),
      global_step_(global_step.value.name()),
      folder_(std::move(folder)),
      prefix_(str_cat(folder_, "/", name)),
      timer_(every) {}

Status SaveCheckpoints::begin(Session& session, const Host& host) {
  if (const Status last = finish(host); !last.ok())
    host.log.warning("the lost session's checkpoint was not saved: ", last.to_string());
  MR_TRY(host.files.make_directories(folder_));
  return save_if_due(session, host, true);
}

StepWishes SaveCheckpoints::wanted() { return {.fetches = {global_step_}}; }

Result<AfterStep> SaveCheckpoints::after_step(Session& session, const Host& host,
                                              std::span<const Tensor> values) {
  if (!under_way_.empty() && !saver_->is_saving()) MR_TRY(finish(host));
  if (timer_.is_due(values[0].item<int64_t>() + 1, host.clock.now()))
    MR_TRY(save_if_due(session, host, false));
  return AfterStep::go_on;
}

Status SaveCheckpoints::end(Session& session, const Host& host) {
  MR_TRY(save_if_due(session, host, true));
  return finish(host);
}

Status SaveCheckpoints::save_if_due(Session& session, const Host& host, bool always) {
  MR_ASSIGN(const int64_t step, read_step(session, global_step_));
  if (always ? timer_.last() && timer_.last()->step == step
             : !timer_.is_due(step, host.clock.now()))
    return {};
  MR_TRY(finish(host));
  MR_ASSIGN(under_way_, saver_->save(session, host.files, prefix_, step));
  timer_.done(step, host.clock.now());
  return saver_->is_saving() ? Status() : finish(host);
}

Status SaveCheckpoints::finish(const Host& host) {
  const std::string path = std::exchange(under_way_, "");
  MR_TRY(saver_->wait());
  if (!path.empty()) host.log.info("saved '", path, "'");
  return {};
}

}  // namespace millrace

#include "millrace/mapreduce/filling.h"

#include <memory>
#include <utility>

#include "millrace/api/input.h"
#include "millrace/api/ops/array.h"
#include "millrace/api/ops/state.h"
#include "millrace/base/str_cat.h"
#include "millrace/io/record_reader.h"
#include "millrace/tensor/tensor.h"

namespace millrace::mapreduce {

namespace {

constexpr size_t kAtOnce = 64;                  // elements that one step puts in
constexpr size_t kStepBytes = size_t{4} << 20;  // a step with so many takes no further element

// The elements of a reducer's file, a step's at a time.
class Elements {
 public:
  Elements(std::unique_ptr<ReadableFile> file, size_t num_components)
      : records_(io::bytes_of(std::move(file), io::Packing::none)),
        num_components_(num_components) {}

  // Empty at the end.
  Result<std::vector<std::vector<std::string>>> next() {
    std::vector<std::vector<std::string>> some;
    for (size_t size = 0; some.size() < kAtOnce && size < kStepBytes;) {
      std::vector<std::string> components(num_components_);
      for (size_t i = 0; i < num_components_; ++i) {
        MR_ASSIGN(const bool is_one, records_.next(&components[i]));
        if (!is_one && i == 0) return some;
        if (!is_one) return error(Code::data_loss, "the last element lacks a component");
        size += components[i].size();
      }
      some.push_back(std::move(components));
    }
    return some;
  }

 private:
  io::RecordReader records_;
  const size_t num_components_;
};

}  // namespace

Filling::Filling(const Scope& scope, ResultQueue queue) : queue_(std::move(queue)) {
  const millrace::Output handle = queue_.build(scope);
  const Scope there = queue_.task.empty() ? scope : scope.device(queue_.task);
  std::vector<Operation> before;  // elements go in one after the other, in order
  for (size_t i = 0; i < kAtOnce; ++i) {
    InputList components;
    fed_.emplace_back();
    for (int k = 0; k < queue_.num_components(); ++k) {
      const millrace::Output fed =
          ops::placeholder(there, DType::string, {.shape = PartialShape::scalar()});
      fed_.back().push_back(fed.name());
      components.push_back(fed);
    }
    const Operation put = ops::queue_enqueue_v2(there.after(before), handle, components);
    puts_.push_back(put.name());
    before = {put};
  }
  is_closed_ = ops::queue_is_closed_v2(there, handle).name();
  size_ = ops::queue_size_v2(there, handle).name();
  close_ = ops::queue_close_v2(there, handle).name();
  cancel_ = ops::queue_close_v2(there, handle, {.cancel_pending_enqueues = true}).name();
}

Status Filling::check(Session& session) const {
  MR_ASSIGN(const std::vector<Tensor> state,
            session.run({}, {is_closed_, size_}).with(str_cat(queue_.shown(), " can't be had")));
  const auto size = state[1].item<int32_t>();
  if (state[0].item<bool>())
    return failed_precondition(queue_.shown(), " is closed already: name another, or make it anew");
  if (size == 0) return {};
  return failed_precondition(queue_.shown(), " has ", size,
                             " elements already: name another, or make it anew");
}

Status Filling::put_file(Files& files, const std::string& path, const Step& step) const {
  MR_ASSIGN(auto file, files.open(path));
  Elements elements(std::move(file), static_cast<size_t>(queue_.num_components()));
  for (;;) {
    MR_ASSIGN(const auto some, elements.next().with(path));
    if (some.empty()) return {};
    Session::Feeds feeds;
    for (size_t i = 0; i < some.size(); ++i)
      for (size_t k = 0; k < some[i].size(); ++k)
        feeds.push_back({fed_[i][k], Tensor::scalar(some[i][k])});
    const Status put = step(puts_[some.size() - 1], std::move(feeds));
    if (put.code() == Code::cancelled)
      return error(Code::aborted, queue_.shown(), " was closed by somebody else");
    MR_TRY(put);
  }
}

Status Filling::close(Session& session) const {
  return session.run({}, {}, {.targets = {close_}})
      .status()
      .with(str_cat(queue_.shown(), " can't be closed"));
}

void Filling::cancel(Session& session) const {
  static_cast<void>(session.run({}, {}, {.targets = {cancel_}}));
}

}  // namespace millrace::mapreduce

#include "millrace/ops/exchange/batch_rules.h"

#include <algorithm>

#include "millrace/op/op_def.h"

namespace millrace {
namespace {

// Ten years: added to any time it is one that a clock can tell.
constexpr int64_t kLongest = int64_t{10} * 365 * 24 * 3600 * 1'000'000;

Status check_sizes(const std::vector<int64_t>& sizes, int64_t most, bool splits) {
  if (sizes.empty()) return {};
  if (sizes.front() < 1)
    return invalid("allowed_batch_sizes entries must be positive; the first is ", sizes.front());
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] <= sizes[i - 1]) {
      return invalid("allowed_batch_sizes entries must be monotonically increasing, and ", sizes[i],
                     " follows ", sizes[i - 1]);
    }
  }
  if (!splits && sizes.back() != most) {
    return invalid(
        "final entry in allowed_batch_sizes must equal max_batch_size when "
        "enable_large_batch_splitting is False: they are ",
        sizes.back(), " and ", most);
  }
  if (splits && sizes.back() > most) {
    return invalid(
        "When enable_large_batch_splitting is true, input_batch_size_limit must be greater than or "
        "equal to max_execution_batch_size: they are ",
        most, " and ", sizes.back());
  }
  return {};
}

}  // namespace

Clock::Duration batch_wait(int64_t micros) {
  return std::chrono::microseconds(std::min(micros, kLongest));
}

Result<BatchRules> BatchRules::read(const AttrView& attrs) {
  const bool has_function = attrs.op().find_attr("enable_large_batch_splitting") != nullptr;
  BatchRules made;
  MR_ASSIGN(made.threads, attrs.integer("num_batch_threads"));
  if (made.threads < 1 && !has_function)
    return invalid("num_batch_threads must be positive; was ", made.threads);
  made.threads = std::max<int64_t>(made.threads, 0);
  MR_ASSIGN(made.task_rows, attrs.integer("max_batch_size"));
  if (made.task_rows < 1)
    return invalid("input_batch_size_limit must be positive; was ", made.task_rows);
  MR_ASSIGN(const int64_t timeout, attrs.integer("batch_timeout_micros"));
  if (timeout < 0) return invalid("batch_timeout_micros must be non-negative; was ", timeout);
  made.timeout = batch_wait(timeout);
  MR_ASSIGN(made.waiting, attrs.integer("max_enqueued_batches"));
  made.waiting = std::max<int64_t>(made.waiting, 1);
  if (has_function) {
    MR_ASSIGN(made.splits, attrs.boolean("enable_large_batch_splitting"));
    MR_ASSIGN(const std::string policy, attrs.string("batch_padding_policy"));
    made.rounds_down = policy == "BATCH_DOWN";
  }
  MR_ASSIGN(made.sizes, attrs.integers("allowed_batch_sizes"));
  MR_TRY(check_sizes(made.sizes, made.task_rows, made.splits));
  made.batch_rows = made.splits && !made.sizes.empty() ? made.sizes.back() : made.task_rows;
  return made;
}

int64_t BatchRules::padded(int64_t rows) const {
  const auto size = std::lower_bound(sizes.begin(), sizes.end(), rows);
  return size == sizes.end() || rows == 0 ? rows : *size;
}

int64_t BatchRules::size_below(int64_t rows) const {
  const auto size = std::lower_bound(sizes.begin(), sizes.end(), rows);
  return size == sizes.begin() ? 0 : *(size - 1);
}

}  // namespace millrace

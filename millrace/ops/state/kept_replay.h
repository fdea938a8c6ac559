// KeptReplay: the state that the records of a journal tell, before it is put among the resources of
// devices.
//
// One thread. Memory: the state.
#pragma once

#include <map>
#include <string_view>
#include <utility>

#include "millrace/base/random.h"
#include "millrace/op/resource.h"
#include "millrace/ops/state/kept_order.h"
#include "millrace/ops/state/kept_records.h"

namespace millrace {

class KeptReplay {
 public:
  // Errors: DATA_LOSS for a record that can't be: unreadable, or of an element that is in already,
  // or of one that is not there.
  Status apply(std::string_view bytes);

  struct QueueState {
    KeptQueue queue;
    KeptOrder::Elements elements;
    KeptLoans loans;
  };
  // Errors: DATA_LOSS if a queue has lent what it has not. To be asked at the end.
  Status check() const;
  const std::map<KeptName, KeptVariable>& variables() const { return variables_; }
  std::map<KeptName, QueueState>& queues() { return queues_; }
  // 0: of a state that has none yet.
  uint64_t identity() const { return identity_; }
  // By device.
  std::map<uint64_t, AppliedBook>& books() { return books_; }

 private:
  Status apply(KeptVariable variable);
  Status apply(KeptQueue queue);
  Status apply(KeptIn in);
  Status apply(const KeptOut& gone);
  Status apply(const KeptDropped& dropped);
  Status apply(KeptLent lent);
  Status apply(const KeptApplied& applied);
  Status apply(const KeptMade& made);
  Status apply(const KeptIdentity& identity);
  static Status apply(const KeptReign& reign);
  Result<QueueState*> queue_of(const KeptName& name);

  std::map<KeptName, KeptVariable> variables_;
  std::map<KeptName, QueueState> queues_;
  std::map<uint64_t, AppliedBook> books_;
  uint64_t identity_ = 0;
};

}  // namespace millrace

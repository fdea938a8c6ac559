// KeptOrder: the order of a queue whose elements are kept on the disk: numbers them, and knows
// which went in and out since it was asked last.
//
// Around the order that the queue would have without it. An element counts as in the queue until
// its taker has it for good (`gone`), be it that a dequeue holds it that waits for more, that it is
// lent, or that it is a dead letter. Guarded by the queue's lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "millrace/ops/state/lease_book.h"
#include "millrace/ops/state/queue_core.h"

namespace millrace {

// Of a kept queue: which of its elements were lent and have not ended. In the next life they are in
// the queue again, under the numbers of their leases.
struct KeptLoans {
  uint64_t incarnation = 0;  // 0: it never lent
  LeaseBook::Kept book;
  std::vector<uint64_t> elements;  // the numbers of book.open among what is kept, in its order
  std::vector<uint64_t> dead;      // those of the dead letters, in their order
  friend bool operator==(const KeptLoans&, const KeptLoans&) = default;
};

class KeptOrder final : public QueueOrder {
 public:
  explicit KeptOrder(std::unique_ptr<QueueOrder> order) : order_(std::move(order)) {}

  size_t size() const override { return order_->size(); }
  void push(QueueElement element) override;
  QueueElement pop() override { return order_->pop(); }
  void restore(QueueElement element) override { order_->restore(std::move(element)); }
  void drop(uint64_t number) override { order_->drop(number); }
  size_t reserve() const override { return order_->reserve(); }
  bool prefers_some() const override { return order_->prefers_some(); }

  // Somebody has taken it for good.
  void gone(const QueueElement& element);

  using Elements = std::map<uint64_t, QueueElement>;
  // Names of updates: of each that is made once, when all its elements are in.
  using Made = std::vector<std::shared_ptr<const UpdateName>>;
  struct Changes {
    std::vector<std::pair<uint64_t, QueueElement>> in;  // by number, ascending
    std::vector<uint64_t> out;
    Made made;
  };
  // Of what is told, nothing is a change any more.
  Changes take_changes();
  Changes take_all();

  // Puts back what was kept, before anything else is put in. Those `aside` are not to be taken, but
  // not gone either.
  void put_back(Elements elements, uint64_t next_number, const std::set<uint64_t>& aside = {});
  uint64_t next_number() const { return next_number_; }

 private:
  const std::unique_ptr<QueueOrder> order_;
  Elements all_;
  Made made_;                  // not told yet
  std::vector<uint64_t> out_;  // told to be in, and gone since
  uint64_t next_number_ = 1;
  uint64_t first_untold_ = 1;  // nobody was told of this element and those after it
};

}  // namespace millrace

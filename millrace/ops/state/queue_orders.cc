// Part of queue_core.h: the orders in which queues give their elements.
#include <algorithm>

#include "millrace/ops/loops/philox_blocks.h"
#include "millrace/ops/state/queue_core.h"

namespace millrace {
namespace {

class FifoOrder final : public QueueOrder {
 public:
  size_t size() const override { return elements_.size(); }
  void push(QueueElement element) override { elements_.push_back(std::move(element)); }
  QueueElement pop() override {
    QueueElement first = std::move(elements_.front());
    elements_.pop_front();
    return first;
  }
  void restore(QueueElement element) override { elements_.push_front(std::move(element)); }
  void drop(uint64_t number) override {
    std::erase_if(elements_, [number](const auto& each) { return each.lent_as == number; });
  }

 private:
  std::deque<QueueElement> elements_;
};

class ShuffledOrder final : public QueueOrder {
 public:
  ShuffledOrder(size_t reserve, PhiloxBlocks random) : reserve_(reserve), random_(random) {}
  size_t size() const override { return elements_.size(); }
  void push(QueueElement element) override { elements_.push_back(std::move(element)); }
  QueueElement pop() override {
    // As TensorFlow draws: the order is the same there. So much favour for the first is not seen.
    const size_t chosen = random_.next() % elements_.size();
    std::swap(elements_[chosen], elements_.back());
    QueueElement element = std::move(elements_.back());
    elements_.pop_back();
    return element;
  }
  void restore(QueueElement element) override { push(std::move(element)); }
  void drop(uint64_t number) override {
    std::erase_if(elements_, [number](const auto& each) { return each.lent_as == number; });
  }
  size_t reserve() const override { return reserve_; }

 private:
  const size_t reserve_;
  PhiloxWords random_;
  std::vector<QueueElement> elements_;
};

class PriorityOrder final : public QueueOrder {
 public:
  size_t size() const override { return heap_.size(); }
  void push(QueueElement element) override { insert(next_arrival_++, std::move(element)); }
  QueueElement pop() override {
    std::pop_heap(heap_.begin(), heap_.end(), leaves_later);
    Entry last = std::move(heap_.back());
    heap_.pop_back();
    return std::move(last.element);
  }
  bool prefers_some() const override { return true; }
  // Before all that arrived with the same priority.
  void restore(QueueElement element) override { insert(--first_restored_, std::move(element)); }
  void drop(uint64_t number) override {
    std::erase_if(heap_, [number](const auto& each) { return each.element.lent_as == number; });
    std::make_heap(heap_.begin(), heap_.end(), leaves_later);
  }

 private:
  struct Entry {
    int64_t priority;
    int64_t arrival;
    QueueElement element;
  };
  static bool leaves_later(const Entry& a, const Entry& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.arrival > b.arrival;
  }
  void insert(int64_t arrival, QueueElement element) {
    const int64_t priority = element[0].item<int64_t>();
    heap_.push_back({priority, arrival, std::move(element)});
    std::push_heap(heap_.begin(), heap_.end(), leaves_later);
  }

  std::vector<Entry> heap_;
  int64_t next_arrival_ = 0;
  int64_t first_restored_ = 0;
};

}  // namespace

std::unique_ptr<QueueOrder> fifo_order() { return std::make_unique<FifoOrder>(); }

std::unique_ptr<QueueOrder> shuffled_order(size_t reserve, uint64_t seed, uint64_t seed2) {
  return std::make_unique<ShuffledOrder>(reserve, PhiloxBlocks::of_seeds(seed, seed2));
}

std::unique_ptr<QueueOrder> priority_order() { return std::make_unique<PriorityOrder>(); }

}  // namespace millrace

// RareList: a list that is empty nearly always, and then costs no more than a pointer: what traces
// and the like take of every answer. Otherwise it is a vector.
#pragma once

#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace millrace {

template <class T>
class RareList {
 public:
  RareList() = default;
  // NOLINTBEGIN(google-explicit-constructor): it stands for the vector.
  RareList(std::vector<T> items) {
    if (!items.empty()) items_ = std::make_unique<std::vector<T>>(std::move(items));
  }
  operator const std::vector<T>&() const {
    static const std::vector<T> none;
    return items_ ? *items_ : none;
  }
  // NOLINTEND(google-explicit-constructor)
  RareList(std::initializer_list<T> items) : RareList(std::vector<T>(items)) {}
  RareList(const RareList& other) : RareList(static_cast<const std::vector<T>&>(other)) {}
  RareList(RareList&&) noexcept = default;
  RareList& operator=(const RareList& other) { return *this = RareList(other); }
  RareList& operator=(RareList&&) noexcept = default;

  bool empty() const { return !items_ || items_->empty(); }
  size_t size() const { return items_ ? items_->size() : 0; }
  T& operator[](size_t index) { return (*items_)[index]; }
  const T& operator[](size_t index) const { return (*items_)[index]; }
  auto begin() const { return static_cast<const std::vector<T>&>(*this).begin(); }
  auto end() const { return static_cast<const std::vector<T>&>(*this).end(); }

  void push_back(T item) { made().push_back(std::move(item)); }
  T& emplace_back() { return made().emplace_back(); }
  void append(RareList more) {
    if (more.empty()) return;
    auto& all = made();
    all.insert(all.end(), std::make_move_iterator(more.items_->begin()),
               std::make_move_iterator(more.items_->end()));
  }

 private:
  std::vector<T>& made() {
    if (!items_) items_ = std::make_unique<std::vector<T>>();
    return *items_;
  }

  std::unique_ptr<std::vector<T>> items_;  // null: empty
};

}  // namespace millrace

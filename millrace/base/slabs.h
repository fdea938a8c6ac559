// Slabs: a sequence that grows at its end, kept in pieces of a fixed size.
//
// It is for what gets long: a vector that has grown to a million elements has copied each of them
// once or twice, and the room that it left is lost to a process that needs larger ones from then
// on. Here a full piece is never touched again, so its elements stay where they are; those of the
// first piece move while it fills, which costs a short sequence no more than a vector. An access
// reads one pointer more than a vector's. A value; not thread-safe while it is being changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace millrace {

template <class T, size_t kPerSlab = 256>
class Slabs {
  static_assert((kPerSlab & (kPerSlab - 1)) == 0, "a division would be slow");

 public:
  // The elements from one on, for reading. Valid until the sequence is changed or moved.
  class View;

  size_t size() const {
    return slabs_.empty() ? 0 : (slabs_.size() - 1) * kPerSlab + slabs_.back().size();
  }
  bool empty() const { return size() == 0; }
  T& operator[](size_t at) { return slabs_[at / kPerSlab][at % kPerSlab]; }
  const T& operator[](size_t at) const { return slabs_[at / kPerSlab][at % kPerSlab]; }
  T& back() { return slabs_.back().back(); }
  View view() const { return View(*this, 0); }

  void push_back(T element) {
    if (slabs_.empty() || slabs_.back().size() == kPerSlab) slabs_.emplace_back();
    auto& slab = slabs_.back();
    if (slab.size() == slab.capacity()) {
      slab.reserve(slabs_.size() > 1 ? kPerSlab : std::clamp(2 * slab.size(), kFewest, kPerSlab));
    }
    slab.push_back(std::move(element));
  }
  // Makes room for `count` elements, as far as that spares moving any.
  void reserve(size_t count) {
    if (slabs_.empty() && count > 0) slabs_.emplace_back().reserve(std::min(count, kPerSlab));
  }
  // Drops the elements from `size` on, if there are any.
  void truncate(size_t size) {
    if (size >= this->size()) return;
    slabs_.resize((size + kPerSlab - 1) / kPerSlab);
    if (size % kPerSlab == 0) return;
    auto& slab = slabs_.back();
    slab.erase(slab.begin() + static_cast<std::ptrdiff_t>(size % kPerSlab), slab.end());
  }

 private:
  static constexpr size_t kFewest = 4;

  std::vector<std::vector<T>> slabs_;  // all but the last are full
};

template <class T, size_t kPerSlab>
class Slabs<T, kPerSlab>::View {
 public:
  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using reference = const T&;
    using pointer = const T*;
    using iterator_category = std::forward_iterator_tag;

    Iterator() = default;
    Iterator(const Slabs* slabs, size_t at) : slabs_(slabs), at_(at) {}
    reference operator*() const { return (*slabs_)[at_]; }
    pointer operator->() const { return &(*slabs_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(slabs_, at_++); }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    const Slabs* slabs_ = nullptr;
    size_t at_ = 0;
  };

  View(const Slabs& slabs, size_t first) : slabs_(&slabs), first_(first) {}

  size_t size() const { return slabs_->size() - first_; }
  bool empty() const { return size() == 0; }
  const T& operator[](size_t at) const { return (*slabs_)[first_ + at]; }
  Iterator begin() const { return Iterator(slabs_, first_); }
  Iterator end() const { return Iterator(slabs_, slabs_->size()); }
  View subspan(size_t first) const { return View(*slabs_, first_ + first); }

 private:
  const Slabs* slabs_;
  size_t first_;
};

}  // namespace millrace

// TrailingAllocator: lets std::allocate_shared put an object, its reference counts and a run of
// bytes behind them into one allocation. A scalar tensor costs one `new` because of it.
//
//   void* bytes = nullptr;
//   auto made = std::allocate_shared<Holder>(TrailingAllocator<Holder>(size, &bytes), bytes, size);
//
// `bytes` points at the trailing bytes, aligned to kBufferAlignment, before Holder's constructor
// runs; it is passed on by reference. Private to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "millrace/tensor/buffer.h"

namespace millrace {

template <class T>
class TrailingAllocator {
 public:
  using value_type = T;

  // `*bytes` is written by allocate() and not touched afterwards.
  TrailingAllocator(size_t size, void** bytes) : size_(size), bytes_(bytes) {}
  template <class U>
  TrailingAllocator(const TrailingAllocator<U>& other)  // NOLINT(google-explicit-constructor)
      : size_(other.size_), bytes_(other.bytes_) {}

  T* allocate(size_t count) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    const size_t front = count * sizeof(T);
    // Not the aligned form of new: malloc's thread cache serves only the plain one.
    constexpr size_t kSlack = kBufferAlignment - __STDCPP_DEFAULT_NEW_ALIGNMENT__;
    size_t total;
    if (__builtin_add_overflow(size_, front + kSlack + __STDCPP_DEFAULT_NEW_ALIGNMENT__, &total))
      throw std::bad_alloc();
    void* block = ::operator new(total);
    const auto end = reinterpret_cast<uintptr_t>(block) + front;
    *bytes_ = reinterpret_cast<void*>((end + kBufferAlignment - 1) & ~(kBufferAlignment - 1));
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t) { ::operator delete(block); }

  template <class U>
  friend bool operator==(const TrailingAllocator&, const TrailingAllocator<U>&) {
    return true;
  }

 private:
  template <class>
  friend class TrailingAllocator;
  size_t size_;
  void** bytes_;
};

}  // namespace millrace

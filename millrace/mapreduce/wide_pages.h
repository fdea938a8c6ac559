// WidePages<T>: an allocator for large tables that are read here and there. Asks the system for
// pages of 2 MiB, of which a processor knows the places of many more bytes; where there are none, a
// table is merely slower.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace millrace::mapreduce {

template <class T>
struct WidePages {
  using value_type = T;

  WidePages() = default;
  template <class U>
  WidePages(const WidePages<U>&) {}

  T* allocate(size_t count) {
    const size_t size = count * sizeof(T);
    if (size < kPage) return static_cast<T*>(::operator new(size));
    void* const made = ::operator new(size, std::align_val_t(kPage));
    ::madvise(made, size / kPage * kPage, MADV_HUGEPAGE);
    return static_cast<T*>(made);
  }
  void deallocate(T* made, size_t count) {
    if (count * sizeof(T) < kPage) return ::operator delete(made);
    ::operator delete(made, std::align_val_t(kPage));
  }
  friend bool operator==(const WidePages&, const WidePages&) { return true; }

 private:
  static constexpr size_t kPage = size_t{2} << 20;
};

}  // namespace millrace::mapreduce

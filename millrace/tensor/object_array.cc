#include "millrace/tensor/object_array.h"

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "millrace/tensor/block_cache.h"
#include "millrace/tensor/tensor.h"
#include "millrace/tensor/trailing_allocator.h"

namespace millrace {
namespace {

template <class T>
class ObjectArray final : public Buffer {
 public:
  // `memory` owns the bytes, unless they trail this object.
  ObjectArray(void* const& bytes, size_t count, std::shared_ptr<Buffer> memory)
      : Buffer(bytes, count * sizeof(T)), memory_(std::move(memory)) {
    std::uninitialized_default_construct_n(items(), count);
  }
  ~ObjectArray() override { std::destroy_n(items(), size() / sizeof(T)); }

 private:
  T* items() const { return static_cast<T*>(data()); }

  const std::shared_ptr<Buffer> memory_;
};

template <class T>
Result<std::shared_ptr<Buffer>> make_objects(size_t count) {
  const size_t size = count * sizeof(T);
  try {
    if (size >= BlockCache::kMinBlock) {
      MR_ASSIGN(std::shared_ptr<Buffer> memory, Buffer::allocate(size));
      void* const bytes = memory->data();
      return std::shared_ptr<Buffer>(
          std::make_shared<ObjectArray<T>>(bytes, count, std::move(memory)));
    }
    void* bytes = nullptr;
    return std::shared_ptr<Buffer>(std::allocate_shared<ObjectArray<T>>(
        TrailingAllocator<ObjectArray<T>>(size, &bytes), bytes, count, nullptr));
  } catch (const std::bad_alloc&) {
    return error(Code::resource_exhausted, "no memory for ", count, " elements (", size, " bytes)");
  }
}

}  // namespace

Result<std::shared_ptr<Buffer>> allocate_objects(DType dtype, size_t count) {
  switch (dtype) {
    case DType::string:
      return make_objects<std::string>(count);
    case DType::resource:
      return make_objects<ResourceHandle>(count);
    case DType::variant:
      return make_objects<Variant>(count);
    default:
      return internal(dtype_name(dtype), " elements are bytes, not objects");
  }
}

}  // namespace millrace

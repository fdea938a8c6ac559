// Resource: something on a device that outlives a step (a variable, a queue), and the manager that
// finds it by (container, name).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/mutex.h"
#include "millrace/base/result.h"

namespace millrace {

class Resource {
 public:
  virtual ~Resource() = default;
  // What it is and how it stands, for people: "FIFOQueue 3/10 of (string)".
  virtual std::string description() const = 0;
  // The resource is being dropped from its container: wake whoever waits on it, with `why`.
  virtual void close(const Status& why) { (void)why; }
};

// One per device. Thread-safe. Lookups take one shared hash table; a kernel that runs often keeps
// the shared_ptr and asks `generation()` whether anything was dropped since.
class ResourceStore {
 public:
  // `default_container` is where resources are that name no container: TensorFlow's servers call it
  // by the job of their task.
  explicit ResourceStore(std::string default_container = "localhost")
      : default_container_(std::move(default_container)) {}
  ~ResourceStore();

  const std::string& default_container() const { return default_container_; }

  // `container` empty means the default one. The name space is per C++ type: a queue and a
  // variable of one name are different things.
  // Errors: NOT_FOUND "Resource <container>/<name>/<type> does not exist.", as TensorFlow's
  // clients know it.
  template <class T>
  Result<std::shared_ptr<T>> find(std::string_view container, std::string_view name) const;
  // Finds, or makes with `create` (called with no lock held; of two racing makers one wins).
  template <class T>
  Result<std::shared_ptr<T>> find_or_create(
      std::string_view container, std::string_view name,
      const std::function<Result<std::shared_ptr<T>>()>& create);
  // Errors: ALREADY_EXISTS.
  template <class T>
  Status add(std::string_view container, std::string_view name, std::shared_ptr<T> resource) {
    return insert(key_of(typeid(T), container, name), {std::move(resource), T::kTypeName});
  }
  // Drops one. Errors: NOT_FOUND.
  template <class T>
  Status remove(std::string_view container, std::string_view name) {
    return erase(key_of(typeid(T), container, name), T::kTypeName);
  }
  // The same for who knows the type by its kTypeName only. Looks at all there are. Errors:
  // NOT_FOUND.
  Status remove(std::string_view container, std::string_view name, std::string_view type_name);
  // Drops a whole container, closing what is in it. Unknown containers are fine.
  void clear(std::string_view container, const Status& why);
  void clear_all(const Status& why);

  // Grows whenever something is dropped: a cached pointer is good while it has not changed.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // A name that no other resource here has: "_0_<base>", "_1_<base>" … For what a node makes for
  // itself.
  std::string private_name(std::string_view base);

  struct Entry {
    std::string container, name, type, description;
  };
  // What there is, in order of container and name.
  std::vector<Entry> list() const;
  size_t size() const;

 private:
  struct Key {
    size_t type;  // hash of the C++ type
    std::string container, name;
    friend bool operator==(const Key&, const Key&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.type, key.container, key.name);
    }
  };
  Key key_of(const std::type_info& type, std::string_view container, std::string_view name) const {
    return {type.hash_code(), std::string(container.empty() ? default_container_ : container),
            std::string(name)};
  }
  struct Held {
    std::shared_ptr<Resource> resource;
    std::string_view type_name;
  };
  static Status missing(const Key& key, std::string_view type_name);
  std::shared_ptr<Resource> lookup(const Key& key) const;
  Status insert(Key key, Held held);
  // Keeps the one that is there if another was faster; returns whichever is kept.
  std::shared_ptr<Resource> insert_or_get(Key key, Held held);
  Status erase(const Key& key, std::string_view type_name);

  const std::string default_container_;

  mutable Mutex mutex_;
  absl::flat_hash_map<Key, Held> resources_ MR_GUARDED_BY(mutex_);
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> next_private_{0};
};

template <class T>
Result<std::shared_ptr<T>> ResourceStore::find(std::string_view container,
                                               std::string_view name) const {
  Key key = key_of(typeid(T), container, name);
  if (auto found = lookup(key)) return std::static_pointer_cast<T>(std::move(found));
  return missing(key, T::kTypeName);
}

template <class T>
Result<std::shared_ptr<T>> ResourceStore::find_or_create(
    std::string_view container, std::string_view name,
    const std::function<Result<std::shared_ptr<T>>()>& create) {
  Key key = key_of(typeid(T), container, name);
  if (auto found = lookup(key)) return std::static_pointer_cast<T>(std::move(found));
  MR_ASSIGN(std::shared_ptr<T> made, create());
  return std::static_pointer_cast<T>(
      insert_or_get(std::move(key), {std::move(made), T::kTypeName}));
}

}  // namespace millrace

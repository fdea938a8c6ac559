#include "millrace/op/resource.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <tuple>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// "Variable" for millrace::Variable; the mangled name if it can't be read.
std::string type_name(const Resource& resource) {
  const char* mangled = typeid(resource).name();
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &failed), &std::free);
  const std::string_view name = failed == 0 ? readable.get() : mangled;
  return std::string(name.substr(name.rfind(':') + 1));  // npos + 1 is 0
}

}  // namespace

ResourceStore::~ResourceStore() {
  if (size() == 0) return;
  clear_all(cancelled("the device of the resource is going away"));
}

std::shared_ptr<Resource> ResourceStore::lookup(const Key& key) const {
  MutexLock lock(mutex_);
  auto found = resources_.find(key);
  return found == resources_.end() ? nullptr : found->second.resource;
}

Status ResourceStore::missing(const Key& key, std::string_view type_name) {
  return not_found("Resource ", key.container, "/", key.name, "/", type_name, " does not exist.");
}

Status ResourceStore::insert(Key key, Held held) {
  MutexLock lock(mutex_);
  const auto [at, is_new] = resources_.try_emplace(key, std::move(held));
  if (is_new) return {};
  return error(Code::already_exists, "there is a resource '", key.name, "' in container '",
               key.container, "' already: ", at->second.resource->description());
}

std::shared_ptr<Resource> ResourceStore::insert_or_get(Key key, Held held) {
  MutexLock lock(mutex_);
  return resources_.try_emplace(std::move(key), std::move(held)).first->second.resource;
}

Status ResourceStore::remove(std::string_view container, std::string_view name,
                             std::string_view type_name) {
  if (container.empty()) container = default_container_;
  std::optional<Key> found;
  {
    MutexLock lock(mutex_);
    for (const auto& [key, held] : resources_)
      if (key.container == container && key.name == name && held.type_name == type_name)
        found = key;
  }
  if (found) return erase(*found, type_name);
  return missing({0, std::string(container), std::string(name)}, type_name);
}

Status ResourceStore::erase(const Key& key, std::string_view type_name) {
  std::shared_ptr<Resource> dropped;
  {
    MutexLock lock(mutex_);
    auto found = resources_.find(key);
    if (found == resources_.end()) return missing(key, type_name);
    dropped = std::move(found->second.resource);
    resources_.erase(found);
  }
  generation_.fetch_add(1, std::memory_order_acq_rel);
  dropped->close(
      cancelled("resource '", key.name, "' in container '", key.container, "' was destroyed"));
  return {};
}

void ResourceStore::clear(std::string_view container, const Status& why) {
  if (container.empty()) container = default_container_;
  std::vector<std::shared_ptr<Resource>> dropped;
  {
    MutexLock lock(mutex_);
    absl::erase_if(resources_, [&](auto& entry) {
      if (entry.first.container != container) return false;
      dropped.push_back(std::move(entry.second.resource));
      return true;
    });
  }
  generation_.fetch_add(1, std::memory_order_acq_rel);
  // Without the lock: closing answers waiters, and what they do next may come back here.
  for (const auto& resource : dropped) resource->close(why);
}

void ResourceStore::clear_all(const Status& why) {
  decltype(resources_) dropped;
  {
    MutexLock lock(mutex_);
    dropped.swap(resources_);
  }
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (const auto& [key, held] : dropped) held.resource->close(why);
}

std::string ResourceStore::private_name(std::string_view base) {
  return str_cat("_", next_private_.fetch_add(1, std::memory_order_relaxed), "_", base);
}

std::vector<ResourceStore::Entry> ResourceStore::list() const {
  std::vector<std::pair<Key, Held>> all;
  {
    MutexLock lock(mutex_);
    all.assign(resources_.begin(), resources_.end());
  }
  std::vector<Entry> entries;
  entries.reserve(all.size());
  for (const auto& [key, held] : all) {
    const Resource& resource = *held.resource;
    entries.push_back({key.container, key.name, type_name(resource), resource.description()});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.container, a.name, a.type) < std::tie(b.container, b.name, b.type);
  });
  return entries;
}

size_t ResourceStore::size() const {
  MutexLock lock(mutex_);
  return resources_.size();
}

}  // namespace millrace

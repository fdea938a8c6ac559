#include "millrace/ops/data/cache_files.h"

#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/io/bundle_merge.h"
#include "millrace/io/bundle_writer.h"
#include "millrace/wire/variant_messages.h"

namespace millrace::data {
namespace {

// What is read at once.
constexpr size_t kMostRead = 1024, kMostBytesRead = 256 << 10;

std::string padded(uint64_t number, size_t width) {
  std::string text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// As wide as the largest of `count` numbers from 0 on.
size_t width_of(uint64_t count) { return std::to_string(count - 1).size(); }

Status add(io::BundleWriter& writer, const std::string& key, const Tensor& tensor) {
  if (tensor.dtype() == DType::variant)
    return writer.add_variants(key, tensor.shape(), wire::variant_messages(tensor));
  return writer.add(key, tensor);
}

// What a lockfile says of who made it; nothing if it can't be read.
std::string said_by(Files& files, const std::string& lockfile) {
  const auto file = files.open(lockfile);
  if (!file.ok()) return {};
  char text[150];
  const Result<size_t> count = (*file)->read(0, text);
  return count.ok() ? std::string(text, *count) : std::string();
}

}  // namespace

Result<std::shared_ptr<LeftCaches>> LeftCaches::of(ResourceStore& resources) {
  return resources.find_or_create<LeftCaches>(
      "", "_left_caches",
      []() -> Result<std::shared_ptr<LeftCaches>> { return std::make_shared<LeftCaches>(); });
}

void LeftCaches::leave(const std::string& name) {
  MutexLock lock(mutex_);
  ++left_[name].count;
}

void LeftCaches::gone(const std::string& name) {
  std::vector<std::shared_ptr<Waker>> waiting;
  {
    MutexLock lock(mutex_);
    const auto found = left_.find(name);
    if (--found->second.count > 0) return;
    waiting = std::move(found->second.waiting);
    left_.erase(found);
  }
  for (const auto& waker : waiting) waker->wake();
}

bool LeftCaches::is_going(const std::string& name, const std::shared_ptr<Waker>& waker) {
  MutexLock lock(mutex_);
  const auto found = left_.find(name);
  if (found == left_.end()) return false;
  found->second.waiting.push_back(waker);
  return true;
}

std::string LeftCaches::description() const {
  MutexLock lock(mutex_);
  return str_cat(left_.size(), " caches in files that are being taken away");
}

CacheFiles::CacheFiles(Files& files, Random& random, std::string name,
                       Dataset::Components components, std::shared_ptr<LeftCaches> left)
    : files_(files),
      random_(random),
      name_(std::move(name)),
      components_(std::move(components)),
      left_(std::move(left)) {}

CacheFiles::~CacheFiles() {
  if (is_locked_) discard();
  if (is_left_) left_->gone(name_);
}

void CacheFiles::leave() {
  left_->leave(name_);
  is_left_ = true;
}

std::string CacheFiles::key(int64_t element, size_t component) const {
  return str_cat(padded(static_cast<uint64_t>(element), width_of(kMostElements)), "_",
                 padded(component, width_of(components_.types.size())));
}

std::string CacheFiles::part(size_t number) const { return str_cat(name_, "_", number); }

Status CacheFiles::begin() {
  const Result<FileFacts> index = files_.facts(io::index_path(name_));
  if (!index.ok()) {
    if (index.status().code() != Code::not_found) return index.status();
    return lock();
  }
  MR_ASSIGN(auto reader, io::BundleReader::open(files_, name_));
  MR_TRY(check_reader(*reader));
  reader_ = std::move(reader);
  return {};
}

Status CacheFiles::lock() {
  const std::string lockfile = part(0) + ".lockfile";
  if (!is_locked_) MR_TRY(check_that_nobody_writes(lockfile));
  MR_ASSIGN(const auto file, files_.create(lockfile));
  is_locked_ = true;
  MR_TRY(file->append("Created by a Millrace task"));
  return file->close();
}

Status CacheFiles::check_that_nobody_writes(const std::string& lockfile) {
  const std::string index = io::index_path(part(0));
  if (files_.facts(index).ok()) {
    return error(Code::already_exists, "Existing cache files found: ", index,
                 "; a walk that wrote them did not come to its end. To continue delete them.");
  }
  const Result<FileFacts> locked = files_.facts(lockfile);
  if (!locked.ok()) return locked.status().code() == Code::not_found ? Status() : locked.status();
  return error(Code::already_exists,
               "There appears to be a concurrent caching iterator running - cache lockfile already "
               "exists ('",
               lockfile,
               "'). If you are sure no other running TF computations are using this cache prefix, "
               "delete the lockfile and re-initialize the iterator. Lockfile contents: ",
               said_by(files_, lockfile), "; it was changed ", locked->changed_micros / 1'000'000,
               " s after 1970 began");
}

Status CacheFiles::check_reader(const io::BundleReader& reader) const {
  if (reader.entry(key(0, 0)).ok()) {
    if (!reader.entry(key(0, components_.types.size())).ok()) return {};
    return invalid("its elements have more components than the ", components_.types.size(),
                   " of the dataset: another dataset wrote it; delete it, or give another name");
  }
  // That of an empty dataset has no tensors.
  return reader.each([&](std::string_view key, const io::BundleEntry&) {
    return failed_precondition(
        "there is a checkpoint of that name that is no cache of elements of ",
        components_.types.size(), " components: it has '", key, "'; give another name");
  });
}

Status CacheFiles::write(const std::vector<Element>& elements) {
  const size_t number = parts_++;
  // One file for each: how large they become is said by who brings the elements.
  MR_ASSIGN(const auto writer, io::BundleWriter::create(files_, part(number), random_,
                                                        {.least_shard_bytes = UINT64_MAX}));
  for (const Element& element : elements) {
    for (size_t i = 0; i < element.size(); ++i) MR_TRY(add(*writer, key(next_, i), element[i]));
    ++next_;
  }
  return writer->finish();
}

Status CacheFiles::finish() {
  std::vector<std::string> parts;
  for (size_t i = 0; i < parts_; ++i) parts.push_back(part(i));
  MR_TRY(io::merge_bundles(files_, parts, name_, random_));
  MR_TRY(files_.remove(part(0) + ".lockfile"));
  is_locked_ = false;
  return {};
}

Status CacheFiles::read(std::deque<Element>* elements) {
  size_t bytes = 0;
  while (elements->size() < kMostRead && bytes < kMostBytesRead) {
    if (reader_->entry(key(next_, 0)).status().code() == Code::not_found) return {};
    MR_ASSIGN(Element element, read_one());
    for (const Tensor& component : element) bytes += component.num_bytes();
    elements->push_back(std::move(element));
    ++next_;
  }
  return {};
}

Result<Element> CacheFiles::read_one() const {
  Element element;
  for (size_t i = 0; i < components_.types.size(); ++i) {
    MR_ASSIGN(Tensor component, read_component(key(next_, i), i));
    element.push_back(std::move(component));
  }
  return element;
}

Result<Tensor> CacheFiles::read_component(const std::string& key, size_t component) const {
  const Result<io::BundleEntry> entry = reader_->entry(key);
  if (!entry.ok()) {
    if (entry.status().code() != Code::not_found) return entry.status();
    return invalid("element ", next_, " has no component ", component,
                   ": another dataset wrote it; delete it, or give another name");
  }
  const io::BundleEntry& found = *entry;
  const DType wanted = components_.types[component];
  if (found.dtype != wanted || !components_.shapes[component].allows(found.shape)) {
    return invalid("component ", component, " of element ", next_, " is of type ",
                   dtype_name(found.dtype), " and shape ", found.shape.to_string(),
                   ", the dataset's are of type ", dtype_name(wanted), " and shape ",
                   components_.shapes[component].to_string(),
                   ": another dataset wrote it; delete it, or give another name");
  }
  if (wanted != DType::variant) return reader_->read(key, found);
  MR_ASSIGN(const std::vector<std::string> messages, reader_->read_variants(key, found));
  return wire::variants_of_messages(found.shape, messages);
}

// What can't be removed stays: it is in nobody's way but that of the next who writes, who tells it.
void CacheFiles::discard() {
  for (size_t i = 0; i < parts_; ++i) {
    static_cast<void>(files_.remove(io::index_path(part(i))));
    static_cast<void>(files_.remove(io::data_path(part(i), 0, 1)));
  }
  static_cast<void>(files_.remove(part(0) + ".lockfile"));
}

}  // namespace millrace::data

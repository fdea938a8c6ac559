// Checkpoints of several shards: what is cut how, and broken off while shards are written side by
// side.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/thread_pool.h"
#include "millrace/io/bundle_reader.h"
#include "millrace/io/bundle_writer.h"
#include "millrace/io/testing/memory_files.h"

namespace millrace::io {
namespace {

using testing::MemoryFiles;

Tensor two_texts() { return Tensor::vector<std::string>({"", std::string(300, 'x')}); }

// Tensors of 100 bytes, and what has none or other than plain ones between them.
std::map<std::string, Tensor> large_model(float value) {
  std::map<std::string, Tensor> tensors = {
      {"c_texts", two_texts()}, {"d_empty", Tensor::allocate(DType::f64, {0, 5}).value()}};
  for (const char* name : {"a", "b", "e", "f", "g", "h", "i"})
    tensors[name] = Tensor::vector<float>(std::vector<float>(25, value += 1));
  return tensors;
}

struct ShardedDisk {
  MemoryFiles files;
  SeededRandom random{7};
  BundleWriterOptions options;

  Status save(const std::string& prefix, const std::map<std::string, Tensor>& tensors) {
    MR_ASSIGN(const auto writer, BundleWriter::create(files, prefix, random, options));
    for (const auto& [name, tensor] : tensors) MR_TRY(writer->add(name, tensor));
    return writer->finish();
  }
  Result<Tensor> load(const std::string& prefix, const std::string& name) {
    MR_ASSIGN(const auto reader, BundleReader::open(files, prefix));
    return reader->read(name);
  }
};

TEST_CASE("a large checkpoint is several shards of much the same size, and a small one is one") {
  ShardedDisk disk;
  REQUIRE(disk.save("small", large_model(0)).ok());
  CHECK(BundleReader::open(disk.files, "small").value()->header().num_shards == 1);
  for (const uint64_t least : {1000, 500, 300, 200, 1}) {
    disk.options.least_shard_bytes = least;
    REQUIRE(disk.save("m", large_model(0)).ok());
    const auto reader = BundleReader::open(disk.files, "m").value();
    // 1,007 bytes: of the four shards that there may be at most none has more than 402.
    std::map<int, uint64_t> bytes;
    for (const auto& [name, tensor] : large_model(0)) {
      CHECK(reader->read(name).value() == tensor);
      const BundleEntry entry = reader->entry(name).value();
      bytes[entry.shard] += entry.size;
    }
    CHECK(bytes.size() == std::min<uint64_t>(1007 / least, 4));
    if (bytes.size() == 4)
      for (const auto& [shard, size] : bytes) CHECK((size >= 100 && size <= 450));
    disk.files.contents().clear();
  }
}

TEST_CASE("one tensor that is larger than all others leaves no shard without any") {
  ShardedDisk disk;
  disk.options.least_shard_bytes = 10;
  const std::map<std::string, Tensor> saved = {
      {"a", Tensor::vector<float>(std::vector<float>(100, 1))}, {"b", Tensor::scalar<float>(2)}};
  REQUIRE(disk.save("m", saved).ok());
  const auto reader = BundleReader::open(disk.files, "m").value();
  CHECK(reader->header().num_shards == 2);
  for (const auto& [name, tensor] : saved) CHECK(reader->read(name).value() == tensor);
}

TEST_CASE("shards that are written side by side break off at any change like one") {
  ThreadPool threads(3);
  for (Runner* others : {static_cast<Runner*>(nullptr), static_cast<Runner*>(&threads)}) {
    int changes = 0;
    for (int at = -1; at < changes; ++at) {
      ShardedDisk disk;
      disk.options = {.others = others, .least_shard_bytes = 200};
      REQUIRE(disk.save("m", large_model(0)).ok());
      const int before = disk.files.changes();
      disk.files.break_after(at);
      const Status saved = disk.save("m", large_model(100));
      disk.files.mend();
      if (at < 0) changes = disk.files.changes() - before;
      const auto first = disk.load("m", "a");
      REQUIRE(first.ok());
      const bool is_new = first->flat<float>()[0] == 101;
      CHECK((is_new || !saved.ok()));
      for (const auto& [name, tensor] : large_model(is_new ? 100 : 0))
        CHECK(disk.load("m", name).value() == tensor);
      // The place is free for another try.
      REQUIRE(disk.save("m", large_model(7)).ok());
      CHECK(disk.load("m", "i").value() == large_model(7).at("i"));
    }
  }
}

// A disk on which one file finds no room, and the others can be removed.
class OneFull final : public Files {
 public:
  explicit OneFull(MemoryFiles& files) : files_(files) {}
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return files_.open(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    if (path.find("data-00002") != std::string::npos)
      return error(Code::resource_exhausted, path, "; No space left on device");
    return files_.create(path);
  }
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override {
    return files_.append_to(path);
  }
  Result<FileFacts> facts(const std::string& path) override { return files_.facts(path); }
  Result<std::vector<std::string>> list(const std::string& path) override {
    return files_.list(path);
  }
  Status make_directories(const std::string& path) override {
    return files_.make_directories(path);
  }
  Status remove(const std::string& path) override { return files_.remove(path); }
  Status remove_directory(const std::string& path) override {
    return files_.remove_directory(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    return files_.rename(from, to);
  }

 private:
  MemoryFiles& files_;
};

TEST_CASE("a shard that can't be written leaves none of the others behind") {
  ThreadPool threads(3);
  ShardedDisk disk;
  disk.options = {.others = &threads, .least_shard_bytes = 200};
  OneFull one_full(disk.files);
  {
    const auto writer = BundleWriter::create(one_full, "m", disk.random, disk.options).value();
    for (const auto& [name, tensor] : large_model(0)) REQUIRE(writer->add(name, tensor).ok());
    CHECK(writer->finish().code() == Code::resource_exhausted);
  }
  CHECK(disk.files.contents().empty());
}

}  // namespace
}  // namespace millrace::io

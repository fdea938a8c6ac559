// Checkpoints: written, read, damaged, merged, and broken off at every change of the disk.
#include <doctest/doctest.h>

#include "millrace/io/bundle_merge.h"
#include "millrace/io/bundle_reader.h"
#include "millrace/io/bundle_writer.h"
#include "millrace/io/crc32c.h"
#include "millrace/io/testing/memory_files.h"

namespace millrace::io {
namespace {

using testing::MemoryFiles;

struct Disk {
  MemoryFiles files;
  SeededRandom random{7};

  Status save(const std::string& prefix, const std::map<std::string, Tensor>& tensors) {
    MR_ASSIGN(const auto writer, BundleWriter::create(files, prefix, random));
    for (const auto& [name, tensor] : tensors) MR_TRY(writer->add(name, tensor));
    return writer->finish();
  }
  Result<Tensor> load(const std::string& prefix, const std::string& name) {
    MR_ASSIGN(const auto reader, BundleReader::open(files, prefix));
    return reader->read(name);
  }
};

Tensor strings() {
  return Tensor::of<std::string>({2, 2},
                                 {"", std::string(300, 'x'), std::string("\0\1", 2), "end"});
}

TEST_CASE("CRC-32C is the one of RFC 3720, and its mask is undone") {
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aaU);
  CHECK(crc32c("123456789") == 0xe3069283U);
  CHECK(crc32c("456789", crc32c("123")) == 0xe3069283U);
  for (const uint32_t crc : {0U, 1U, 0xe3069283U}) CHECK(unmasked(masked(crc)) == crc);
}

TEST_CASE("tensors of every kind are read as they were saved") {
  Disk disk;
  const std::map<std::string, Tensor> saved = {
      {"f", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
      {"scalar", Tensor::scalar<int64_t>(-7)},
      {"empty", Tensor::allocate(DType::f64, {0, 5}).value()},
      {"flags", Tensor::vector<bool>({true, false})},
      {"narrow", Tensor::vector<Half>({Half(0.5f), Half(-2.0f)})},
      {"texts", strings()},
      {"no_texts", Tensor::allocate(DType::string, {0}).value()},
  };
  REQUIRE(disk.save("/ckpt/model-1", saved).ok());
  const auto reader = BundleReader::open(disk.files, "/ckpt/model-1").value();
  for (const auto& [name, tensor] : saved) CHECK(reader->read(name).value() == tensor);
  const auto tensors = reader->tensors().value();
  CHECK(tensors.size() == saved.size());
  CHECK(tensors.at("f").shape == Shape{2, 3});
  // Nothing but the checkpoint is left.
  CHECK(disk.files.contents().size() == 2);
}

TEST_CASE("a checkpoint of many tensors is read by name in any order") {
  Disk disk;
  std::map<std::string, Tensor> saved;
  for (int i = 0; i < 5000; ++i) saved["layer/" + std::to_string(i)] = Tensor::scalar<int32_t>(i);
  REQUIRE(disk.save("m", saved).ok());
  const auto reader = BundleReader::open(disk.files, "m").value();
  for (const int i : {4999, 0, 17, 2500})
    CHECK(reader->read("layer/" + std::to_string(i))->item<int32_t>() == i);
  CHECK(reader->read("layer/5000").status().message() == "Key layer/5000 not found in checkpoint");
}

TEST_CASE("a name is saved once, and what has no bytes not at all") {
  Disk disk;
  const auto writer = BundleWriter::create(disk.files, "m", disk.random).value();
  REQUIRE(writer->add("a", Tensor::scalar<float>(1)).ok());
  CHECK(writer->add("a", Tensor::scalar<float>(2)).code() == Code::invalid_argument);
  CHECK(writer->add("", Tensor::scalar<float>(2)).code() == Code::invalid_argument);
  CHECK(writer->add("r", Tensor::allocate(DType::resource, {}).value()).code() ==
        Code::unimplemented);
}

TEST_CASE("slices are put together, whole or in any box") {
  Disk disk;
  const Shape whole{4, 2};
  const auto writer = BundleWriter::create(disk.files, "m", disk.random).value();
  const Slice top = Slice::parse("0,1:-").value(), rest = Slice::parse("1,3:-").value();
  REQUIRE(writer->add_slice("w", whole, rest, Tensor::of<float>({3, 2}, {3, 4, 5, 6, 7, 8})).ok());
  REQUIRE(writer->add_slice("w", whole, top, Tensor::of<float>({1, 2}, {1, 2})).ok());
  CHECK(writer->add_slice("w", whole, top, Tensor::of<float>({1, 2}, {1, 2})).code() ==
        Code::invalid_argument);
  CHECK(writer->add_slice("w", whole, top, Tensor::scalar<float>(1)).code() ==
        Code::invalid_argument);
  REQUIRE(writer->finish().ok());

  const auto reader = BundleReader::open(disk.files, "m").value();
  CHECK(reader->read("w").value() == Tensor::of<float>(whole, {1, 2, 3, 4, 5, 6, 7, 8}));
  const BundleEntry found = reader->entry("w").value();
  CHECK(reader->read_slice("w", found, rest).value() ==
        Tensor::of<float>({3, 2}, {3, 4, 5, 6, 7, 8}));
  CHECK(reader->read_slice("w", found, Slice::parse("0,2:1,1").value()).value() ==
        Tensor::of<float>({2, 1}, {2, 4}));
  CHECK_FALSE(reader->read_slice("w", found, Slice::parse("3,2:-").value()).ok());
  CHECK(reader->tensors()->size() == 1);
}

TEST_CASE("slices of strings are put together too") {
  Disk disk;
  const auto writer = BundleWriter::create(disk.files, "m", disk.random).value();
  REQUIRE(writer
              ->add_slice("t", {3}, Slice::parse("1,2").value(),
                          Tensor::vector<std::string>({"b", "c"}))
              .ok());
  REQUIRE(
      writer->add_slice("t", {3}, Slice::parse("0,1").value(), Tensor::vector<std::string>({"a"}))
          .ok());
  REQUIRE(writer->finish().ok());
  CHECK(disk.load("m", "t").value() == Tensor::vector<std::string>({"a", "b", "c"}));
}

TEST_CASE("a tensor of which a slice is missing is not read as zeros") {
  Disk disk;
  const auto writer = BundleWriter::create(disk.files, "m", disk.random).value();
  REQUIRE(
      writer->add_slice("w", {4}, Slice::parse("0,2").value(), Tensor::vector<float>({1, 2})).ok());
  REQUIRE(writer->finish().ok());
  CHECK(disk.load("m", "w").status().code() == Code::invalid_argument);
}

TEST_CASE("slices that the files don't hold are lost before anything is made for them") {
  Disk disk;
  constexpr int64_t kClaimed = int64_t{1} << 44;
  const Slice first = Slice::parse("0,1").value();
  const Slice rest = Slice::parse(str_cat("1,", kClaimed - 1)).value();
  const auto writer = BundleWriter::create(disk.files, "m", disk.random).value();
  REQUIRE(writer->add_slice("w", {kClaimed}, first, Tensor::vector<float>({1})).ok());
  REQUIRE(writer->finish().ok());
  const auto written = BundleReader::open(disk.files, "m").value();
  std::map<std::string, BundleEntry> entries;
  REQUIRE(written
              ->each([&](std::string_view key, const BundleEntry& entry) -> Status {
                entries.emplace(key, entry);
                return {};
              })
              .ok());
  entries.at("w").slices.push_back(rest);
  entries[slice_key("w", rest)] = {.dtype = DType::f32,
                                   .shape = {kClaimed - 1},
                                   .shard = 0,
                                   .offset = 0,
                                   .size = 4 * (kClaimed - 1),
                                   .checksum = 0,
                                   .slices = {}};
  REQUIRE(write_bundle_index(disk.files, index_path("m"), 1, entries).ok());
  CHECK(disk.load("m", "w").status().code() == Code::data_loss);
}

TEST_CASE("a slice that is listed twice fills nothing twice") {
  Disk disk;
  const Slice half = Slice::parse("0,2").value();
  const auto writer = BundleWriter::create(disk.files, "m", disk.random).value();
  REQUIRE(writer->add_slice("w", {4}, half, Tensor::vector<float>({1, 2})).ok());
  REQUIRE(writer->finish().ok());
  const auto written = BundleReader::open(disk.files, "m").value();
  std::map<std::string, BundleEntry> entries;
  REQUIRE(written
              ->each([&](std::string_view key, const BundleEntry& entry) -> Status {
                entries.emplace(key, entry);
                return {};
              })
              .ok());
  entries.at("w").slices.push_back(half);
  REQUIRE(write_bundle_index(disk.files, index_path("m"), 1, entries).ok());
  CHECK(disk.load("m", "w").status().code() == Code::invalid_argument);
}

TEST_CASE(
    "a save over an index that tells of files that are not there looks for none but the first") {
  Disk disk;
  REQUIRE(disk.save("m", {{"x", Tensor::scalar<float>(1)}}).ok());
  REQUIRE(write_bundle_index(disk.files, index_path("m"), 2'000'000'000, {}).ok());
  REQUIRE(disk.save("m", {{"x", Tensor::scalar<float>(2)}}).ok());
  CHECK(disk.load("m", "x").value() == Tensor::scalar<float>(2));
}

TEST_CASE("a checkpoint that is not there is not found") {
  Disk disk;
  CHECK(disk.load("nowhere", "x").status().code() == Code::not_found);
}

// Every byte of both files, changed or cut off: what is read is what was saved, or an error.
TEST_CASE("a damaged or shortened checkpoint is never read as another one") {
  Disk disk;
  const Tensor numbers = Tensor::of<float>({3}, {1, 2, 3});
  REQUIRE(disk.save("m", {{"n", numbers}, {"t", strings()}}).ok());
  const auto whole = disk.files.contents();
  const auto still_true = [&] {
    const auto n = disk.load("m", "n"), t = disk.load("m", "t");
    return (!n.ok() || n.value() == numbers) && (!t.ok() || t.value() == strings());
  };
  for (const auto& [path, bytes] : whole) {
    for (size_t at = 0; at < bytes.size(); ++at) {
      disk.files.contents() = whole;
      disk.files.contents()[path][at] = static_cast<char>(bytes[at] ^ 0x41);
      if (!still_true()) FAIL_CHECK(path << ", byte " << at << " changed");
      disk.files.contents()[path].resize(at);
      if (!still_true()) FAIL_CHECK(path << ", cut off at " << at);
    }
  }
}

TEST_CASE("an index that counts more elements than its file has bytes allocates nothing") {
  Disk disk;
  BundleEntry lie{.dtype = DType::f32, .shape = {int64_t{1} << 40}, .size = uint64_t{4} << 40};
  REQUIRE(write_bundle_index(disk.files, "m.index", 1, {{"x", lie}}).ok());
  disk.files.contents()[data_path("m", 0, 1)] = "few";
  CHECK(disk.load("m", "x").status().code() == Code::data_loss);
  lie.dtype = DType::string;
  lie.size = 3;
  REQUIRE(write_bundle_index(disk.files, "m.index", 1, {{"x", lie}}).ok());
  CHECK(disk.load("m", "x").status().code() == Code::data_loss);
}

TEST_CASE("a save that breaks off at any change leaves the checkpoint before it whole") {
  const Tensor old_value = Tensor::scalar<float>(1), new_value = Tensor::vector<float>({2, 3});
  int changes = 0;
  {
    Disk disk;
    REQUIRE(disk.save("model-1", {{"w", old_value}}).ok());
    const int before = disk.files.changes();
    REQUIRE(disk.save("model-2", {{"w", new_value}, {"t", strings()}}).ok());
    changes = disk.files.changes() - before;
  }
  for (int at = 0; at < changes; ++at) {
    Disk disk;
    REQUIRE(disk.save("model-1", {{"w", old_value}}).ok());
    disk.files.break_after(at);
    const Status saved = disk.save("model-2", {{"w", new_value}, {"t", strings()}});
    CHECK(saved.code() == Code::resource_exhausted);
    disk.files.mend();
    CHECK(disk.load("model-1", "w").value() == old_value);
    CHECK_FALSE(disk.load("model-2", "w").ok());
    // The place is free for another try.
    CHECK(disk.save("model-2", {{"w", new_value}}).ok());
    CHECK(disk.load("model-2", "w").value() == new_value);
  }
}

// Saves over a checkpoint, whole or merged of two, and breaks off at every change in turn.
template <class Save>
void check_saves_over(Save save) {
  const Tensor old_value = Tensor::scalar<float>(1), new_value = Tensor::vector<float>({2, 3});
  int changes = 0;
  for (int at = -1; at < changes; ++at) {
    Disk disk;
    REQUIRE(disk.save("m", {{"w", old_value}, {"t", strings()}}).ok());
    const int before = disk.files.changes();
    disk.files.break_after(at);
    const Status saved = save(disk, new_value);
    disk.files.mend();
    if (at < 0) changes = disk.files.changes() - before;
    const auto loaded = disk.load("m", "w");
    REQUIRE(loaded.ok());
    CHECK((*loaded == new_value || (!saved.ok() && *loaded == old_value)));
    if (*loaded == old_value) CHECK(disk.load("m", "t").value() == strings());
  }
}

TEST_CASE("a save over a checkpoint that breaks off at any change leaves the old or the new one") {
  check_saves_over([](Disk& disk, const Tensor& value) { return disk.save("m", {{"w", value}}); });
}

TEST_CASE("a merge over a checkpoint that breaks off leaves the old or the new one") {
  check_saves_over([](Disk& disk, const Tensor& value) -> Status {
    MR_TRY(disk.save("part/0", {{"w", value}}));
    return merge_bundles(disk.files, {"part/0"}, "m", disk.random);
  });
}

TEST_CASE("saves over a checkpoint leave no file of the one before, however many there are") {
  Disk disk;
  for (int i = 0; i < 4; ++i) {
    REQUIRE(disk.save("m", {{"w", Tensor::scalar<int32_t>(i)}}).ok());
    CHECK(disk.load("m", "w").value() == Tensor::scalar<int32_t>(i));
    CHECK(disk.files.contents().size() == (i % 2 == 0 ? 2 : 3));
  }
  REQUIRE(merge_bundles(disk.files, {"m"}, "n", disk.random).ok());
  CHECK(disk.load("n", "w").value() == Tensor::scalar<int32_t>(3));
}

TEST_CASE("a hundred thousand variables are saved and found by name") {
  Disk disk;
  constexpr int kCount = 100'000;
  {
    const auto writer = BundleWriter::create(disk.files, "m", disk.random).value();
    for (int i = 0; i < kCount; ++i)
      REQUIRE(writer->add(str_cat("layer_", i % 97, "/v", i), Tensor::scalar<int32_t>(i)).ok());
    REQUIRE(writer->finish().ok());
  }
  const auto reader = BundleReader::open(disk.files, "m").value();
  CHECK(reader->tensors()->size() == kCount);
  for (int i = 0; i < kCount; i += 1009)
    CHECK(reader->read(str_cat("layer_", i % 97, "/v", i))->item<int32_t>() == i);
}

TEST_CASE("a save that fails while the disk still works leaves nothing behind") {
  Disk disk;
  {
    const auto writer = BundleWriter::create(disk.files, "m", disk.random).value();
    REQUIRE(writer->add("a", Tensor::scalar<float>(1)).ok());
  }
  CHECK(disk.files.contents().empty());
}

TEST_CASE("checkpoints of several tasks are merged into one") {
  Disk disk;
  REQUIRE(disk.save("tmp/a", {{"x", Tensor::scalar<float>(1)}}).ok());
  {
    const auto writer = BundleWriter::create(disk.files, "tmp/b", disk.random).value();
    REQUIRE(
        writer->add_slice("w", {2}, Slice::parse("0,1").value(), Tensor::vector<float>({5})).ok());
    REQUIRE(writer->finish().ok());
  }
  {
    const auto writer = BundleWriter::create(disk.files, "tmp/c", disk.random).value();
    REQUIRE(
        writer->add_slice("w", {2}, Slice::parse("1,1").value(), Tensor::vector<float>({6})).ok());
    REQUIRE(writer->finish().ok());
  }
  REQUIRE(merge_bundles(disk.files, {"tmp/a", "tmp/b", "tmp/c"}, "all", disk.random).ok());
  CHECK(disk.load("all", "x").value() == Tensor::scalar<float>(1));
  CHECK(disk.load("all", "w").value() == Tensor::vector<float>({5, 6}));
  CHECK(disk.files.contents().size() == 4);
}

TEST_CASE("checkpoints that have a tensor in common, or are missing, are not merged") {
  Disk disk;
  REQUIRE(disk.save("a", {{"x", Tensor::scalar<float>(1)}}).ok());
  REQUIRE(disk.save("b", {{"x", Tensor::scalar<float>(2)}}).ok());
  const auto before = disk.files.contents();
  CHECK(merge_bundles(disk.files, {"a", "b"}, "all", disk.random).code() == Code::invalid_argument);
  CHECK(merge_bundles(disk.files, {"a", "c"}, "all", disk.random).code() == Code::not_found);
  CHECK(merge_bundles(disk.files, {}, "all", disk.random).code() == Code::invalid_argument);
  CHECK(disk.files.contents() == before);
}

TEST_CASE("a checkpoint whose index names shards that it does not count is not merged") {
  for (const int shard : {INT32_MAX, 1, -1}) {
    Disk disk;
    REQUIRE(disk.save("a", {{"x", Tensor::scalar<float>(1)}}).ok());
    REQUIRE(disk.save("b", {{"y", Tensor::scalar<float>(2)}}).ok());
    BundleEntry lie = BundleReader::open(disk.files, "b").value()->entry("y").value();
    lie.shard = shard;
    REQUIRE(write_bundle_index(disk.files, "b.index", 1, {{"y", lie}}).ok());
    const auto before = disk.files.contents();
    const Status merged = merge_bundles(disk.files, {"a", "b"}, "all", disk.random);
    CHECK(merged.code() == Code::data_loss);
    CHECK(merged.message() == str_cat("b.index names shard ", shard, " of data; there are 1"));
    CHECK(disk.files.contents() == before);
  }
}

}  // namespace
}  // namespace millrace::io

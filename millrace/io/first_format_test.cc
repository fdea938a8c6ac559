// Checkpoints of the first format: written, read, damaged, and broken off.
#include <doctest/doctest.h>

#include "millrace/io/first_format_reader.h"
#include "millrace/io/first_format_writer.h"
#include "millrace/io/table.h"
#include "millrace/io/testing/memory_files.h"

namespace millrace::io {
namespace {

using testing::MemoryFiles;

struct OldDisk {
  MemoryFiles files;
  SeededRandom random{7};

  Status save(const std::string& path, const std::map<std::string, Tensor>& tensors) {
    FirstFormatWriter writer(files, path);
    for (const auto& [name, tensor] : tensors) MR_TRY(writer.add(name, tensor));
    return writer.finish(random);
  }
  Result<Tensor> load(const std::string& pattern, const std::string& name) {
    MR_ASSIGN(const auto reader, FirstFormatReader::open(files, pattern));
    return reader->read(name);
  }
};

std::map<std::string, Tensor> tensors_of_all_kinds() {
  return {
      {"f", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, -6})},
      {"d", Tensor::vector<double>({0.5, -1e300})},
      {"c", Tensor::vector<std::complex<float>>({{1, 2}, {-3, 4}})},
      {"i8", Tensor::vector<int8_t>({-128, 0, 127})},
      {"u8", Tensor::vector<uint8_t>({0, 255})},
      {"i16", Tensor::vector<int16_t>({-32768, 32767})},
      {"u16", Tensor::vector<uint16_t>({65535})},
      {"i32", Tensor::vector<int32_t>({-2147483647 - 1, -1, 2147483647})},
      {"scalar", Tensor::scalar<int64_t>(-7)},
      {"empty", Tensor::allocate(DType::f64, {0, 5}).value()},
      {"flags", Tensor::vector<bool>({true, false})},
      {"narrow", Tensor::vector<Half>({Half(0.5f), Half(-2.0f)})},
      {"texts", Tensor::of<std::string>({2, 1}, {"", std::string("\0\1", 2)})},
      {"no_texts", Tensor::allocate(DType::string, {0}).value()},
  };
}

TEST_CASE("tensors of every kind are read as they were saved in the first format") {
  OldDisk disk;
  const auto saved = tensors_of_all_kinds();
  REQUIRE(disk.save("/c/model-1", saved).ok());
  const auto reader = FirstFormatReader::open(disk.files, "/c/model-1").value();
  CHECK(reader->tensors().size() == saved.size());
  for (const auto& [name, tensor] : saved) CHECK(reader->read(name).value() == tensor);
  CHECK(disk.files.contents().size() == 1);
}

TEST_CASE("slices in several shards are put together") {
  OldDisk disk;
  const Slice left{{{0, 2}, {0, -1}}}, right{{{2, 1}, {0, -1}}};
  for (const bool is_first : {true, false}) {
    FirstFormatWriter writer(disk.files, is_first ? "/c/m-00000-of-00002" : "/c/m-00001-of-00002");
    const Tensor part =
        is_first ? Tensor::of<float>({2, 2}, {1, 2, 3, 4}) : Tensor::of<float>({1, 2}, {5, 6});
    REQUIRE(writer.add_slice("w", {3, 2}, is_first ? left : right, part).ok());
    REQUIRE(writer.finish(disk.random).ok());
  }
  const auto reader = FirstFormatReader::open(disk.files, "/c/m-\?\?\?\?\?-of-00002").value();
  CHECK(reader->read("w").value() == Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  CHECK(reader->read_slice("w", {{{1, 2}, {1, 1}}}).value() == Tensor::of<float>({2, 1}, {4, 6}));
  const auto half = FirstFormatReader::open(disk.files, "/c/m-00000-of-00002").value();
  CHECK(half->read("w").status().code() == Code::invalid_argument);
}

TEST_CASE("what is not there or does not fit is said") {
  OldDisk disk;
  CHECK(FirstFormatReader::open(disk.files, "m").status() ==
        not_found("Unsuccessful TensorSliceReader constructor: Failed to find any matching files "
                  "for m"));
  REQUIRE(disk.save("m", {{"a", Tensor::scalar<float>(1)}}).ok());
  CHECK(disk.load("m", "b").status() ==
        not_found("Tensor name \"b\" not found in checkpoint files m"));
  FirstFormatWriter writer(disk.files, "n");
  REQUIRE(writer.add("a", Tensor::scalar<float>(1)).ok());
  CHECK(writer.add("a", Tensor::scalar<float>(1)).code() == Code::invalid_argument);
  CHECK(writer.add("", Tensor::scalar<float>(1)).code() == Code::invalid_argument);
  CHECK(writer.add("b", Tensor::allocate(DType::bf16, {}).value()).code() ==
        Code::invalid_argument);
  CHECK(writer.add_slice("a", {2}, {{{0, 1}}}, Tensor::vector<float>({1})).code() ==
        Code::internal);
  CHECK(writer.add_slice("s", {2}, {{{1, 5}}}, Tensor::vector<float>({1})).code() ==
        Code::internal);
}

TEST_CASE("a damaged or shortened file of the first format is never read as another one") {
  OldDisk disk;
  const auto saved = tensors_of_all_kinds();
  REQUIRE(disk.save("m", saved).ok());
  const std::string whole = disk.files.contents().at("m");
  const auto is_as_saved_or_lost = [&] {
    const auto reader = FirstFormatReader::open(disk.files, "m");
    if (!reader.ok()) return true;
    for (const auto& [name, tensor] : saved) {
      const auto read = (*reader)->read(name);
      if (read.ok() && !(*read == tensor)) return false;
    }
    return true;
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    disk.files.contents()["m"] = changed;
    CHECK(is_as_saved_or_lost());
    disk.files.contents()["m"] = whole.substr(0, at);
    CHECK(is_as_saved_or_lost());
  }
}

TEST_CASE("contents that promise more than the file holds allocate nothing") {
  OldDisk disk;
  const auto file = disk.files.create("m").value();
  TableWriter table(*file);
  const Slice all = Slice::whole(1);
  const int64_t many = int64_t{1} << 40;
  REQUIRE(table.add("", encode_contents({{"w", {DType::f32, {many}, {all}}}})).ok());
  REQUIRE(table.add(slice_key("w", all), encode_slice("w", all, Tensor::vector<float>({1})).value())
              .ok());
  REQUIRE(table.finish().ok());
  CHECK(disk.load("m", "w").status().code() == Code::data_loss);
}

TEST_CASE("a slice that is listed again and again is read once, and fills nothing else") {
  OldDisk disk;
  const auto file = disk.files.create("m").value();
  TableWriter table(*file);
  const Slice half = {{{0, 2}}};
  const std::vector<Slice> listed(100'000, half);
  REQUIRE(table.add("", encode_contents({{"w", {DType::f32, {4}, listed}}})).ok());
  const Tensor part = Tensor::vector<float>({1, 2});
  REQUIRE(table.add(slice_key("w", half), encode_slice("w", half, part).value()).ok());
  REQUIRE(table.finish().ok());
  const auto reader = FirstFormatReader::open(disk.files, "m").value();
  CHECK(reader->read("w").status().code() == Code::invalid_argument);
  CHECK(reader->read_slice("w", {{{1, 1}}}).value() == Tensor::vector<float>({2}));
}

TEST_CASE("a save in the first format that breaks off leaves what was there") {
  int changes = 0;
  {
    OldDisk disk;
    REQUIRE(disk.save("m", {{"a", Tensor::scalar<float>(1)}}).ok());
    changes = disk.files.changes();
  }
  for (int at = 0; at < changes; ++at) {
    OldDisk disk;
    REQUIRE(disk.save("m", {{"a", Tensor::scalar<float>(1)}}).ok());
    disk.files.break_after(at);
    CHECK_FALSE(disk.save("m", {{"a", Tensor::scalar<float>(2)}}).ok());
    disk.files.mend();
    CHECK(disk.load("m", "a").value() == Tensor::scalar<float>(1));
  }
}

}  // namespace
}  // namespace millrace::io

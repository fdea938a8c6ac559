// What was collected of a job's tasks goes on in packs, and becomes the same folders elsewhere,
// each whole or not at all.
#include "millrace/launch/shipping/packed_outputs.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/base/testing/scratch_directory.h"
#include "millrace/launch/shipping/digest.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What two tasks have made.
struct Made {
  Made() {
    write(folder.path("collected/map_0/model/weights"), std::string(700'000, 'w'));
    write(folder.path("collected/map_0/.hidden"), "h");
    write(folder.path("collected/map_0/tool"), "#!/bin/sh\n");
    chmod(folder.path("collected/map_0/tool").c_str(), 0755);
    fs::create_directories(folder.path("collected/map_1"));
    // Of one that was cut off.
    write(folder.path("collected/.map_2.abcdef/part"), "p");
  }
  std::vector<PackedOutputs> pack() const {
    return pack_outputs(folder.path("collected"), folder.path("packs")).value();
  }
  std::string pack_of(const std::string& name) const { return folder.path("packs/" + name); }
  Status unpack(const PackedOutputs& packed, const OutputLimits& limits = {}) const {
    return unpack_outputs(pack_of(packed.name), packed, folder.path("out"), limits);
  }
  testing::ScratchDirectory folder;
};

TEST_CASE("what is packed of each task becomes the same folder elsewhere, and is gone here") {
  const Made made;
  const std::vector<PackedOutputs> packed = made.pack();
  REQUIRE(packed.size() == 2);
  CHECK(packed[0].name == "map_0");
  CHECK(packed[1].name == "map_1");
  CHECK(read(made.pack_of("map_1")) == "done\n");
  CHECK(!fs::exists(made.folder.path("collected/map_0")));
  for (const PackedOutputs& one : packed) CHECK(made.unpack(one).ok());
  CHECK(read(made.folder.path("out/map_0/model/weights")) == std::string(700'000, 'w'));
  CHECK(read(made.folder.path("out/map_0/.hidden")) == "h");
  CHECK((fs::status(made.folder.path("out/map_0/tool")).permissions() & fs::perms::owner_exec) !=
        fs::perms::none);
  CHECK(fs::is_empty(made.folder.path("out/map_1")));
}

TEST_CASE("a job that has made nothing has a list that says so") {
  const testing::ScratchDirectory folder;
  CHECK(pack_outputs(folder.path("none"), folder.path("packs")).value().empty());
  CHECK(to_text(std::vector<PackedOutputs>()) == "all\n");
  CHECK(parse_packed("all\n").value().empty());
}

TEST_CASE("a list says what there is, and one that was cut off or leads elsewhere is none") {
  const std::vector<PackedOutputs> packed = Made().pack();
  const std::string text = to_text(packed);
  CHECK(parse_packed(text).value() == packed);
  for (size_t size = 0; size < text.size() - 1; ++size)
    CHECK(parse_packed(text.substr(0, size)).status().code() == Code::data_loss);
  const std::string digest(64, 'a');
  for (const char* name : {"../map_0", ".map_0", "a/b", ""})
    CHECK(!parse_packed(str_cat(digest, " 5 ", name, "\nall\n")).ok());
  CHECK(!parse_packed("short 5 map_0\nall\n").ok());
  CHECK(!parse_packed(str_cat(digest, " five map_0\nall\n")).ok());
}

TEST_CASE("a pack with a byte that is another, one too few or too many brings nothing") {
  const Made made;
  const PackedOutputs packed = made.pack()[0];
  const std::string whole = read(made.pack_of("map_0"));
  write(made.folder.path("out/map_0/before"), "kept");
  std::string other = whole;
  other[100] ^= 1;
  for (const std::string& text : {other, whole.substr(1), whole + "x", std::string()}) {
    write(made.pack_of("map_0"), text);
    CHECK(made.unpack(packed).code() == Code::data_loss);
  }
  CHECK(read(made.folder.path("out/map_0/before")) == "kept");
  CHECK(std::distance(fs::directory_iterator(made.folder.path("out")), {}) == 1);
}

TEST_CASE(
    "a pack that is well signed and leads out of its folder, or is too large, brings nothing") {
  const Made made;
  CHECK(made.unpack(made.pack()[0], {.most_files = 2}).code() == Code::resource_exhausted);
  for (const char* text : {"file 1 0 ../x\nxdone\n", "file 9 0 a\nxdone\n", "file 1 0 a\nx",
                           "get 5\n", "file 1 0 a\nxfile 1 0 a\nxdone\n"}) {
    const testing::ScratchDirectory other;
    write(other.path("collected/map_0/a"), "x");
    PackedOutputs packed = pack_outputs(other.path("collected"), other.path("packs")).value()[0];
    write(other.path("packs/map_0"), text);
    packed.size = std::string_view(text).size();
    Digest digest;
    digest.add(text);
    packed.digest = digest.hex();
    Status status = unpack_outputs(other.path("packs/map_0"), packed, other.path("out"));
    CHECK(!status.ok());
    CHECK(!fs::exists(other.path("out/map_0")));
  }
}

}  // namespace
}  // namespace millrace

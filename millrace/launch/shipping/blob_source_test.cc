#include "millrace/launch/shipping/blob_source.h"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "millrace/base/testing/scratch_directory.h"
#include "millrace/launch/shipping/digest.h"

namespace millrace {
namespace {

std::string sha256_of(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.hex();
}

TEST_CASE("content that lies in a folder is found there by its digest, through links as well") {
  const testing::ScratchDirectory folder;
  const std::string digest = sha256_of("hello");
  std::filesystem::create_directory(folder.path("data"));
  std::ofstream(folder.path("data/" + digest)) << "hello";
  // As Kubernetes mounts its volumes.
  std::filesystem::create_symlink("data/" + digest, folder.path(digest));
  const auto source = mounted_blobs(folder.path("."));
  CHECK(source->get(digest, 5).ok());
}

TEST_CASE("what is missing there, is larger, or is something else is told") {
  const testing::ScratchDirectory folder;
  const std::string digest = sha256_of("hello");
  const auto source = mounted_blobs(folder.path("."));
  CHECK(source->get(digest, 5).status().code() == Code::not_found);
  std::ofstream(folder.path(digest)) << "hallo";
  Status fault = source->get(digest, 5).status();
  CHECK(fault.code() == Code::data_loss);
  CHECK(fault.message().find("its SHA-256 is " + sha256_of("hallo")) != std::string::npos);
  fault = source->get(digest, 4).status();
  CHECK(fault.message().find("has 5 bytes, and 4 are expected") != std::string::npos);
}

}  // namespace
}  // namespace millrace

// Bytes of a file in whatever sizes they are taken: looked at, read, skipped.
#include "millrace/io/byte_source.h"

#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"
#include "millrace/io/testing/packed.h"

namespace millrace::io {
namespace {

std::string gzipped(std::string_view bytes) { return testing::packed(bytes, Packing::gzip); }

std::unique_ptr<ByteSource> source_of(std::string bytes, Packing packing) {
  millrace::testing::MemoryFiles files;
  files.contents()["f"] = std::move(bytes);
  return bytes_of(files.open("f").value(), packing);
}

// A million bytes, of which none is like those around it for long.
const std::string& million() {
  static const std::string bytes = [] {
    std::string made;
    for (int i = 0; made.size() < 1'000'000; ++i) made += std::to_string(i * 7'919) + " ";
    return made;
  }();
  return bytes;
}

// Takes all there is by turns: looks at some, reads a few, reads many.
std::string taken_by_turns(ByteSource& source) {
  std::string all, some;
  for (int turn = 0;; ++turn) {
    if (turn % 3 == 0) {
      const std::string_view there = source.look().value();
      if (there.empty()) return all;
      const size_t count = std::min<size_t>(there.size(), turn % 2 == 0 ? 3 : 100'000);
      all += there.substr(0, count);
      source.take(count);
      continue;
    }
    some.resize(turn % 3 == 1 ? 10 : 300'000);
    some.resize(source.read(some).value());
    all += some;
  }
}

TEST_CASE("bytes come in order, whether looked at or read, few or many") {
  CHECK(taken_by_turns(*source_of(million(), Packing::none)) == million());
  CHECK(taken_by_turns(*source_of(gzipped(million()), Packing::gzip)) == million());
}

TEST_CASE("what is looked at comes again until it is taken") {
  const auto source = source_of("some text", Packing::none);
  CHECK(source->look().value() == "some text");
  CHECK(source->look().value() == "some text");
  source->take(5);
  CHECK(source->look().value() == "text");
  CHECK(skip(*source, 4).value());
  CHECK(source->look().value() == "");
  CHECK(source->look().value() == "");
  CHECK(source_of("", Packing::none)->look().value() == "");
}

TEST_CASE("an error stands behind the bytes before it, and stays") {
  const std::string whole = gzipped(million());
  const auto source = source_of(whole.substr(0, whole.size() / 2), Packing::gzip);
  std::string seen;
  for (;;) {
    const Result<std::string_view> there = source->look();
    if (!there.ok()) break;
    REQUIRE_FALSE(there->empty());
    seen += *there;
    source->take(there->size());
  }
  CHECK(seen.size() > million().size() / 3);
  CHECK(million().starts_with(seen));
  CHECK(source->look().status().message() == "the compressed file ends too early: it was cut off");
  std::string more(300'000, ' ');
  CHECK(source->read(more).status().code() == Code::data_loss);
}

TEST_CASE("a read of many bytes ends before the damage, and then tells of it") {
  const std::string whole = gzipped(million());
  const auto source = source_of(whole.substr(0, whole.size() - 1), Packing::gzip);
  std::string all;
  CHECK(read_exactly(*source, million().size(), &all).value());
  CHECK(all == million());
  CHECK(source->look().status().code() == Code::data_loss);
}

}  // namespace
}  // namespace millrace::io

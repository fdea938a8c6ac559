// The bytes of journals: drawn, read back, cut, damaged and made up.
#include "millrace/io/journal_format.h"

#include <fstream>
#include <functional>

#include <doctest/doctest.h>

#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"
#include "millrace/io/testing/failing_disk.h"
#include "millrace/io/testing/ledger.h"

namespace millrace::io {
namespace {

using testing::FailingDisk;
using testing::LedgerLife;

std::string in_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

// The digits of a golden file, without its notes and spaces.
std::string golden_hex(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file);
  std::string digits;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    for (const char each : line)
      if (each != ' ') digits += each;
  }
  return digits;
}

// Where the parts of a small journal end: what was kept before the snapshot, two groups, and
// nothing more.
struct SmallJournal {
  FailingDisk disk;
  std::string path = "state/journal-0000000000000002";
  std::vector<size_t> ends;        // of the snapshot and each group
  std::vector<size_t> num_kept{};  // how many numbers are kept up to there

  explicit SmallJournal(bool says_farewell = false) {
    {
      LedgerLife first(disk);
      REQUIRE(first.start().ok());
      for (const int number : {0, 1, 2}) first.write(number);
      first.turn();
    }
    LedgerLife second(disk);
    REQUIRE(second.start().ok());
    const auto note = [&] {
      ends.push_back(disk.bytes(path).size());
      num_kept.push_back(second.numbers().size());
    };
    note();
    for (const int number : {3, 4}) {
      second.write(number);
      second.write(number + 10);
      second.turn();
      note();
    }
    bytes = disk.bytes(path);
    if (says_farewell) {
      REQUIRE(second.close().ok());
      bytes = disk.bytes(path);
    }
  }
  // Reads what is left when the file has these bytes instead; the numbers that are there.
  Result<std::vector<int>> read(const std::string& instead) {
    FailingDisk now = disk.after_kill();
    now.bytes(path) = instead;
    LedgerLife life(now);
    MR_TRY(life.start());
    return life.numbers();
  }

  std::string bytes;
};

const std::vector<int> kAll{0, 1, 2, 3, 13, 4, 14};

TEST_CASE("a journal's bytes are these") {
  std::string file;
  const JournalHeader header = journal_header(2, 0x0123456789abcdef);
  file += header.bytes;
  auto put = [&, sequence = uint64_t{0}](FrameKind kind, std::string_view records) mutable {
    const FrameHead head = put_frame_head(&file, header.seed, ++sequence, kind, records.size());
    file += records;
    put_frame_tail(&file, head, records);
  };
  std::string records;
  put_record(&records, "all");
  put(FrameKind::snapshot, records);
  put(FrameKind::snapshot_end, {});
  records.clear();
  put_record(&records, "a change");
  put_record(&records, "");
  put(FrameKind::group, records);
  put(FrameKind::farewell, {});
  CHECK(in_hex(file) == golden_hex("testdata/journal.txt"));
  CHECK(journal_name(0xa7) == "journal-00000000000000a7");
}

TEST_CASE("names of journals are read back, and nothing else is taken for one") {
  for (const uint64_t generation : {uint64_t{1}, uint64_t{0xa7}, ~uint64_t{0}})
    CHECK(generation_of(journal_name(generation)) == generation);
  for (const char* name :
       {"journal-", "journal-1", "journal-00000000000000a7.new", "lock", "journal-00000000000000g7",
        "Journal-00000000000000a7", "journal-+0000000000000a7", "journal-000000000000000a7"})
    CHECK_FALSE(generation_of(name));
  CHECK(is_unfinished("journal-00000000000000a7.new"));
  CHECK_FALSE(is_unfinished("journal-00000000000000a7"));
  CHECK_FALSE(is_unfinished("notes.new"));
}

TEST_CASE("a journal that was cut anywhere ends with a whole group, or says that it is damaged") {
  SmallJournal journal;
  for (size_t size = 0; size < journal.bytes.size(); ++size) {
    CAPTURE(size);
    const Result<std::vector<int>> found = journal.read(journal.bytes.substr(0, size));
    if (size < journal.ends[0]) {
      CHECK(found.status().code() == Code::data_loss);
      continue;
    }
    const size_t kept = size < journal.ends[1] ? journal.num_kept[0] : journal.num_kept[1];
    REQUIRE(found.ok());
    CHECK(*found == std::vector<int>(kAll.begin(), kAll.begin() + static_cast<int>(kept)));
  }
  CHECK(journal.read(journal.bytes).value() == kAll);
}

TEST_CASE("each bit that changed is found, and only in the last group is it taken for a cut") {
  SmallJournal journal;
  for (size_t bit = 0; bit < journal.bytes.size() * 8; ++bit) {
    CAPTURE(bit);
    std::string bytes = journal.bytes;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const Result<std::vector<int>> found = journal.read(bytes);
    if (bit / 8 < journal.ends[1]) {
      CHECK(found.status().code() == Code::data_loss);
    } else {
      REQUIRE(found.ok());
      CHECK(*found == std::vector<int>{0, 1, 2, 3, 13});
    }
  }
}

TEST_CASE("after a farewell a damaged group is told, too") {
  SmallJournal journal(/*says_farewell=*/true);
  REQUIRE(journal.bytes.size() > journal.ends[2]);
  for (size_t bit = 0; bit < journal.ends[2] * 8; ++bit) {
    CAPTURE(bit);
    std::string bytes = journal.bytes;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    CHECK(journal.read(bytes).status().code() == Code::data_loss);
  }
  CHECK(journal.read(journal.bytes).value() == kAll);
  CHECK(journal.read(journal.bytes + "more").status().code() == Code::data_loss);
}

TEST_CASE("what is damaged is told with the file, the place and what to do") {
  SmallJournal journal;
  std::string bytes = journal.bytes;
  bytes[journal.ends[0] + kFrameHeadBytes] ^= 1;
  const std::string message = journal.read(bytes).status().message();
  CHECK(message == str_cat(journal.path, ": at byte ", journal.ends[0], " of ", bytes.size(),
                           ": a frame is damaged that others follow; what was acknowledged is "
                           "missing, so nothing is read. Put back a copy of the folder, or move "
                           "the file away to begin with nothing"));
  bytes = journal.bytes;
  bytes[journal.ends[0]] ^= 1;
  CHECK(journal.read(bytes).status().message().find(
            str_cat("frame 3 is damaged, and frame 4 follows at byte ", journal.ends[1])) !=
        std::string::npos);
}

// A file of one's own: its checksums are right.
std::string made_up(const std::function<void(std::string*, uint32_t seed)>& put) {
  JournalHeader header = journal_header(2, 9);
  const FrameHead end = put_frame_head(&header.bytes, header.seed, 1, FrameKind::snapshot_end, 0);
  put_frame_tail(&header.bytes, end, {});
  put(&header.bytes, header.seed);
  return header.bytes;
}

TEST_CASE("lengths that can't be ask for no memory") {
  SmallJournal journal;
  for (const uint64_t length : {~uint64_t{0}, ~uint64_t{0} - 27, uint64_t{1} << 40}) {
    CAPTURE(length);
    CHECK(journal
              .read(made_up([&](std::string* file, uint32_t seed) {
                put_frame_head(file, seed, 2, FrameKind::group, length);
                *file += "little";
              }))
              .value()
              .empty());
    CHECK(journal
              .read(made_up([&](std::string* file, uint32_t seed) {
                std::string records;
                put_little(&records, length);
                records += "little";
                const FrameHead head =
                    put_frame_head(file, seed, 2, FrameKind::group, records.size());
                *file += records;
                put_frame_tail(file, head, records);
              }))
              .status()
              .code() == Code::data_loss);
  }
}

TEST_CASE("frames that are whole but not in order are refused") {
  SmallJournal journal;
  const auto with = [&](uint64_t sequence, FrameKind kind) {
    return journal
        .read(made_up([&](std::string* file, uint32_t seed) {
          const FrameHead head = put_frame_head(file, seed, sequence, kind, 0);
          put_frame_tail(file, head, {});
        }))
        .status()
        .code();
  };
  CHECK(with(2, FrameKind::group) == Code::ok);
  CHECK(with(3, FrameKind::group) == Code::data_loss);
  CHECK(with(1, FrameKind::group) == Code::data_loss);
  CHECK(with(2, FrameKind::snapshot) == Code::data_loss);
  CHECK(with(2, FrameKind::snapshot_end) == Code::data_loss);
}

TEST_CASE("any bytes at all are read to an end") {
  SmallJournal journal;
  SeededRandom random(11);
  for (int run = 0; run < 20'000; ++run) {
    CAPTURE(run);
    std::string bytes = journal.bytes;
    // Pieces of the file moved about, lost, and written over.
    for (uint64_t times = random.next() % 3 + 1; times > 0; --times) {
      const size_t from = random.next() % (bytes.size() + 1);
      const size_t length = random.next() % (bytes.size() - from + 1);
      const size_t to = random.next() % (bytes.size() + 1);
      switch (random.next() % 3) {
        case 0:
          bytes.insert(to, bytes.substr(from, length));
          break;
        case 1:
          bytes.erase(from, length);
          break;
        default:
          for (size_t i = from; i < from + length; ++i) bytes[i] = static_cast<char>(random.next());
      }
    }
    const Result<std::vector<int>> found = journal.read(bytes);
    if (!found.ok()) {
      CHECK(found.status().code() == Code::data_loss);
    } else {
      REQUIRE(found->size() <= kAll.size());
      CHECK(std::equal(found->begin(), found->end(), kAll.begin()));
      CHECK(found->size() >= journal.num_kept[0]);
    }
  }
}

}  // namespace
}  // namespace millrace::io

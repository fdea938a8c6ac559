#include "millrace/mapreduce/pair_store.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <type_traits>
#include <utility>

#include "millrace/mapreduce/in_quotes.h"
#include "millrace/mapreduce/key_table.h"
#include "millrace/mapreduce/merge.h"

namespace millrace::mapreduce {

namespace {

constexpr size_t kSortedBytes = 16;  // that a key or pair takes while it is sorted

// Small beside the whole memory, so that what is left of a block does not count.
size_t block_for(size_t memory) { return std::clamp<size_t>(memory / 16, 256, size_t{1} << 20); }

std::string_view digits_of(int64_t number, std::array<char, 24>* room) {
  const auto end = std::to_chars(room->data(), room->data() + room->size(), number).ptr;
  return {room->data(), static_cast<size_t>(end - room->data())};
}

// ---- Totals -------------------------------------------------------------------------------------

struct SumTotal {
  int64_t number = 0;

  Status take(const Combiner&, const Pair& pair, size_t*) {
    if (pair.is_number) return add_to(pair.key, &number, pair.number);
    MR_ASSIGN(const int64_t more, number_of(pair.value));
    return add_to(pair.key, &number, more);
  }
  std::string_view text(std::array<char, 24>* room) const { return digits_of(number, room); }
};

struct FoldTotal {
  std::string text_;
  bool has_text = false;

  // Adds to `bytes` what it takes besides itself.
  Status take(const Combiner& combiner, const Pair& pair, size_t* bytes) {
    std::array<char, 24> room{};
    const std::string_view value = pair.is_number ? digits_of(pair.number, &room) : pair.value;
    const size_t before = has_text ? text_.capacity() : 0;
    if (has_text) {
      const Status folded = combiner.fold(pair.key, &text_, value);
      if (!folded.ok()) return folded.with(str_cat("combining the key ", in_quotes(pair.key)));
    } else {
      text_.assign(value);
      has_text = true;
    }
    *bytes += text_.capacity() - before;
    return {};
  }
  std::string_view text(std::array<char, 24>*) const { return text_; }
};

template <class Total>
class TotalStore final : public PairStore {
 public:
  TotalStore(const Combiner& combiner, const Partitions& partitions, size_t memory)
      : combiner_(combiner), partitions_(partitions), memory_(memory), table_(block_for(memory)) {}

  Result<size_t> add(std::span<const Pair> pairs, std::string_view record) override {
    keys_.clear();
    for (const Pair& pair : pairs) {
      keys_.emplace_back(pair.key, record);
      table_.expect(keys_.back());
    }
    for (size_t i = 0; i < pairs.size(); ++i) {
      const Pair& pair = pairs[i];
      Total* total = table_.find(keys_[i]);
      if (is_full_for(pair, total == nullptr)) return i;
      if (total == nullptr) {
        if (pair.key.size() > kLongestEntry)
          return invalid("a key of ", pair.key.size(), " bytes; the longest may have ",
                         kLongestEntry);
        total = table_.add(keys_[i]);
      }
      MR_TRY(total->take(combiner_, pair, &value_bytes_));
    }
    return pairs.size();
  }
  size_t bytes_grown() const override {
    return table_.bytes_grown() + value_bytes_ + kSortedBytes * table_.size();
  }
  bool empty() const override { return table_.size() == 0; }

  Result<std::vector<Segment>> write(RunWriter& writer) override {
    std::vector<std::vector<Sorted>> sorted(static_cast<size_t>(partitions_.count()));
    Status problem;
    table_.for_each([&](const Slot& slot) {
      const Result<int> part = partitions_.of(slot.text());
      if (!part.ok()) problem = part.status();
      if (problem.ok())
        sorted[static_cast<size_t>(*part)].push_back({prefix_of(slot.text()), &slot});
    });
    MR_TRY(problem);
    std::vector<Segment> made;
    std::array<char, 24> room{};
    for (std::vector<Sorted>& part : sorted) {
      std::sort(part.begin(), part.end(), [](const Sorted& a, const Sorted& b) {
        return a.prefix != b.prefix ? a.prefix < b.prefix : a.slot->text() < b.slot->text();
      });
      for (const Sorted& each : part)
        MR_TRY(writer.add(each.slot->text(), each.slot->value.text(&room)));
      MR_ASSIGN(Segment segment, writer.end_segment());
      made.push_back(std::move(segment));
    }
    table_.clear();
    value_bytes_ = 0;
    return made;
  }

 private:
  using Slot = typename KeyTable<Total>::Slot;
  struct Sorted {
    uint64_t prefix;
    const Slot* slot;
  };

  // Another number of a key that is there takes no room.
  bool is_full_for(const Pair& pair, bool is_new) const {
    if (!is_new && pair.is_number && std::is_same_v<Total, SumTotal>) return false;
    return bytes_grown() + pair.key.size() + pair.value.size() > memory_ && !empty();
  }

  const Combiner& combiner_;
  const Partitions& partitions_;
  const size_t memory_;
  KeyTable<Total> table_;
  std::vector<HashedKey> keys_;  // of the pairs at hand
  size_t value_bytes_ = 0;
};

// ---- All pairs ----------------------------------------------------------------------------------

class ListStore final : public PairStore {
 public:
  ListStore(const Partitions& partitions, size_t memory)
      : partitions_(partitions),
        memory_(memory),
        pairs_(block_for(memory)),
        entries_(static_cast<size_t>(partitions.count())) {}

  Result<size_t> add(std::span<const Pair> pairs, std::string_view) override {
    for (size_t i = 0; i < pairs.size(); ++i) {
      const size_t size = pairs[i].key.size() + pairs[i].value.size();
      if (bytes_grown() + size > memory_ && !empty()) return i;
      MR_TRY(add(pairs[i]));
    }
    return pairs.size();
  }
  // A list that doubles has both its sizes for a moment.
  size_t bytes_grown() const override {
    return pairs_.bytes() +
           (room_ + room_ / static_cast<size_t>(partitions_.count())) * sizeof(Entry);
  }
  bool empty() const override { return count_ == 0; }

  Result<std::vector<Segment>> write(RunWriter& writer) override {
    std::vector<Segment> made;
    for (std::vector<Entry>& part : entries_) {
      std::sort(part.begin(), part.end(), [](const Entry& a, const Entry& b) {
        if (a.prefix != b.prefix) return a.prefix < b.prefix;
        const Head left = head_of(a), right = head_of(b);
        const int order = key_of(a, left).compare(key_of(b, right));
        // Values of a key stay in the order in which they came.
        return order != 0 ? order < 0 : left.number < right.number;
      });
      for (const Entry& each : part) {
        const Head head = head_of(each);
        const std::string_view key = key_of(each, head);
        MR_TRY(writer.add(key, {key.data() + key.size(), head.value}));
      }
      MR_ASSIGN(Segment segment, writer.end_segment());
      made.push_back(std::move(segment));
      part.clear();
    }
    pairs_.clear();
    count_ = 0;
    return made;
  }

 private:
  // In front of a pair's bytes.
  struct Head {
    uint32_t key, value;
    uint32_t number;  // of the pair, as it came
  };
  struct Entry {
    uint64_t prefix;
    const char* at;
  };
  Status add(const Pair& pair) {
    std::array<char, 24> room{};
    const std::string_view value = pair.is_number ? digits_of(pair.number, &room) : pair.value;
    if (pair.key.size() > kLongestEntry || value.size() > kLongestEntry - pair.key.size())
      return invalid("the pair of key ", in_quotes(pair.key), " has ", pair.key.size(), " and ",
                     value.size(), " bytes; the longest may have ", kLongestEntry);
    MR_ASSIGN(const int part, partitions_.of(pair.key));
    const Head head{static_cast<uint32_t>(pair.key.size()), static_cast<uint32_t>(value.size()),
                    count_++};
    char* const at = pairs_.room(sizeof head + pair.key.size() + value.size());
    std::memcpy(at, &head, sizeof head);
    if (!pair.key.empty()) std::memcpy(at + sizeof head, pair.key.data(), pair.key.size());
    if (!value.empty()) std::memcpy(at + sizeof head + pair.key.size(), value.data(), value.size());
    std::vector<Entry>& entries = entries_[static_cast<size_t>(part)];
    const size_t before = entries.capacity();
    entries.push_back({prefix_of(pair.key), at});
    room_ += entries.capacity() - before;
    return {};
  }
  static Head head_of(const Entry& entry) {
    Head head{};
    std::memcpy(&head, entry.at, sizeof head);
    return head;
  }
  static std::string_view key_of(const Entry& entry, const Head& head) {
    return {entry.at + sizeof head, head.key};
  }

  const Partitions& partitions_;
  const size_t memory_;
  Arena pairs_;
  std::vector<std::vector<Entry>> entries_;
  size_t room_ = 0;  // in entries, of all lists
  uint32_t count_ = 0;
};

}  // namespace

Result<int> Partitions::of(std::string_view key) const {
  if (!own_) return part_of(key, count_);
  int part = 0;
  MR_TRY(status_of([&] { part = own_(key, count_); }).with("partition"));
  if (part < 0 || part >= count_)
    return out_of_range("partition gives ", part, " for the key ", in_quotes(key),
                        "; it must be 0 to ", count_ - 1);
  return part;
}

std::unique_ptr<PairStore> make_pair_store(const Combiner& combiner, const Partitions& partitions,
                                           size_t memory) {
  switch (combiner.kind()) {
    case Combiner::Kind::sum:
      return std::make_unique<TotalStore<SumTotal>>(combiner, partitions, memory);
    case Combiner::Kind::fold:
      return std::make_unique<TotalStore<FoldTotal>>(combiner, partitions, memory);
    case Combiner::Kind::none:
      break;
  }
  return std::make_unique<ListStore>(partitions, memory);
}

}  // namespace millrace::mapreduce

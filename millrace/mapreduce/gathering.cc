#include "millrace/mapreduce/gathering.h"

#include <utility>

#include "millrace/mapreduce/in_quotes.h"

namespace millrace::mapreduce {

Gathering::Gathering(Terms terms)
    : terms_(std::move(terms)),
      store_(make_pair_store(terms_.combiner, terms_.partitions, terms_.memory)) {}

Status Gathering::add(std::span<const Pair> pairs, std::string_view record) {
  for (;;) {
    MR_ASSIGN(const size_t taken, store_->add(pairs, record));
    if (taken == pairs.size()) return {};
    pairs = pairs.subspan(taken);
    MR_TRY(spill());
  }
}

Result<std::vector<Segment>> Gathering::write_store(const std::string& path) {
  MR_ASSIGN(RunWriter writer, RunWriter::create(terms_.files, path));
  MR_ASSIGN(std::vector<Segment> made, store_->write(writer));
  MR_TRY(writer.close());
  return made;
}

Status Gathering::spill() {
  MR_ASSIGN(std::vector<Segment> made,
            write_store(str_cat(terms_.folder, "/spill-", spills_.size())));
  spills_.push_back(std::move(made));
  return {};
}

Result<std::vector<Segment>> Gathering::write(const std::string& path) {
  if (spills_.empty()) return write_store(path);
  if (!store_->empty()) MR_TRY(spill());
  MR_ASSIGN(RunWriter writer, RunWriter::create(terms_.files, path));
  std::vector<Segment> made;
  for (size_t part = 0; part < static_cast<size_t>(terms_.partitions.count()); ++part) {
    MR_TRY(write_merged(part, writer));
    MR_ASSIGN(Segment segment, writer.end_segment());
    made.push_back(std::move(segment));
  }
  MR_TRY(writer.close());
  return made;
}

Status Gathering::write_merged(size_t part, RunWriter& writer) {
  std::vector<Segment> segments;
  for (const std::vector<Segment>& spill : spills_) segments.push_back(spill[part]);
  MR_ASSIGN(Merge merge, Merge::of(terms_.files, std::move(segments), terms_.folder));
  MR_ASSIGN(bool is_one, merge.next());
  while (is_one) {
    if (terms_.combiner.kind() == Combiner::Kind::none) {
      MR_TRY(writer.add(merge.key(), merge.value()));
      MR_ASSIGN(is_one, merge.next());
      continue;
    }
    MergedValues values(merge);
    MR_ASSIGN(const std::string total, combined(terms_.combiner, values));
    MR_TRY(writer.add(values.key(), total));
    MR_ASSIGN(is_one, values.finish());
  }
  return {};
}

Result<std::string> combined(const Combiner& combiner, MergedValues& values) {
  std::string_view value;
  if (!values.next(&value)) return internal("a key without a value");
  std::string total(value);
  if (combiner.kind() == Combiner::Kind::sum) {
    MR_ASSIGN(int64_t number, number_of(value));
    while (values.next(&value)) {
      MR_ASSIGN(const int64_t more, number_of(value));
      MR_TRY(add_to(values.key(), &number, more));
    }
    return std::to_string(number);
  }
  while (values.next(&value)) {
    const Status folded = combiner.fold(values.key(), &total, value);
    if (!folded.ok()) return folded.with(str_cat("combining the key ", in_quotes(values.key())));
  }
  return total;
}

}  // namespace millrace::mapreduce

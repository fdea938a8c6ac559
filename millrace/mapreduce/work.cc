#include "millrace/mapreduce/work.h"

#include <chrono>
#include <new>
#include <optional>
#include <utility>

#include "millrace/mapreduce/attempt.h"
#include "millrace/mapreduce/gathering.h"
#include "millrace/mapreduce/in_quotes.h"
#include "millrace/mapreduce/merge.h"
#include "millrace/mapreduce/place.h"
#include "millrace/mapreduce/workshop.h"

namespace millrace::mapreduce {

namespace {

// A folder of an attempt's own, made when it is asked for and removed in the end.
class Scratch {
 public:
  Scratch(Files& files, std::string path) : files_(files), path_(std::move(path)) {}
  ~Scratch() { remove_folder(files_, path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  Result<std::string> make() {
    MR_TRY(files_.make_directories(path_).with("the folder for what does not fit into memory"));
    return path_;
  }

 private:
  Files& files_;
  const std::string path_;
};

// ---- Mapping ------------------------------------------------------------------------------------

// Maps the records that an input reads.
class Mapping final : public Reading {
 public:
  Mapping(const Job& job, Attempt& attempt, Gathering& gathering)
      : job_(job), attempt_(attempt), gathering_(gathering) {}

  // A record whole, or nothing of it.
  Status take(const Place& place, std::string_view record) override {
    pairs_.begin(place, record);
    const Status mapped = job_.map(record, pairs_);
    if (!mapped.ok()) return reject(place, record, mapped);
    const Status added = gathering_.add(pairs_.given(), record);
    if (!added.ok()) return added.with(place.to_string());
    ++num_records_;
    num_pairs_ += static_cast<int64_t>(pairs_.given().size());
    if (!pairs_.counted().empty()) attempt_.count(pairs_.counted());
    return {};
  }
  Status reject(const Place& place, std::optional<std::string_view> record,
                const Status& why) override {
    return attempt_.reject(place, record, why);
  }
  void settle() {
    attempt_.count("records read", num_records_);
    attempt_.count("pairs mapped", num_pairs_);
    attempt_.count("spills", gathering_.num_spills());
  }

 private:
  const Job& job_;
  Attempt& attempt_;
  Gathering& gathering_;
  Pairs pairs_;
  int64_t num_records_ = 0, num_pairs_ = 0;
};

Result<Report> map_split(const Job& job, const Piece& piece, const Site& site,
                         std::string_view token) {
  const std::string stem = str_cat(piece.work, "/map-", piece.number, "-", token);
  Attempt attempt(site.files, job.max_bad, stem + ".rejected");
  Scratch scratch(site.files, str_cat(site.spill, "/mapreduce-", token));
  MR_ASSIGN(const std::string folder, scratch.make());
  const Partitions partitions(piece.partitions, job.partition);
  Gathering gathering({site.files, job.combiner(), partitions, site.memory, folder});
  Mapping mapping(job, attempt, gathering);
  MR_TRY(job.input->read(site.files, piece.split, mapping));
  Report report{.kind = piece.kind, .number = piece.number, .file = stem + ".runs"};
  MR_ASSIGN(report.segments, gathering.write(report.file));
  MR_TRY(attempt.close());
  mapping.settle();
  report.counters = attempt.counters();
  report.num_bad = attempt.num_bad();
  report.aside = attempt.aside();
  return report;
}

// ---- Reducing -----------------------------------------------------------------------------------

// Writes what reducers give, a piece at a time.
class Writing final : public Results {
 public:
  Writing(const Output& output, WritableFile& file) : output_(output), file_(file) {}

  // The key of what is given next.
  void set_key(std::string_view key) { key_ = key; }
  void add(std::string_view value) override {
    output_.append(&text_, key_, value);
    ++num_written_;
    if (text_.size() >= kPiece) flush();
  }
  void count(std::string_view counter, int64_t by) override { add_count(&counted_, counter, by); }
  // All to the disk.
  Status finish() {
    flush();
    MR_TRY(status_);
    MR_TRY(file_.sync());
    return file_.close();
  }
  const Status& status() const { return status_; }
  const Counters& counted() const { return counted_; }
  int64_t num_written() const { return num_written_; }

 private:
  static constexpr size_t kPiece = size_t{256} << 10;
  void flush() {
    if (status_.ok()) status_ = file_.append(text_);
    text_.clear();
  }

  const Output& output_;
  WritableFile& file_;
  std::string_view key_;
  std::string text_;
  Counters counted_;
  int64_t num_written_ = 0;
  Status status_;
};

// Reduces a key; the merge stands at the next one then. False if there is none.
Result<bool> reduce_key(const Job& job, Merge& merge, Writing& out) {
  MergedValues values(merge);
  out.set_key(values.key());
  if (job.reduce.is_function()) {
    const Status reduced = job.reduce(values.key(), values, out);
    if (!reduced.ok()) return reduced.with(str_cat("reducing the key ", in_quotes(values.key())));
  } else {
    MR_ASSIGN(const std::string total, combined(job.reduce.combiner(), values));
    MR_TRY(status_of([&] { out.add(total); }).with("writing"));
  }
  return values.finish();
}

// Writes pairs as they are. The number of keys.
Result<int64_t> write_pairs(Merge& merge, Writing& out) {
  int64_t num_keys = 0;
  std::string key;
  for (;;) {
    MR_ASSIGN(const bool is_one, merge.next());
    if (!is_one) return num_keys;
    if (num_keys == 0 || merge.key() != key) {
      ++num_keys;
      key.assign(merge.key());
    }
    out.set_key(key);
    out.add(merge.value());
    MR_TRY(out.status());
  }
}

Result<int64_t> reduce_keys(const Job& job, Merge& merge, Writing& out) {
  int64_t num_keys = 0;
  MR_ASSIGN(bool is_one, merge.next());
  for (; is_one; ++num_keys) {
    MR_ASSIGN(is_one, reduce_key(job, merge, out));
    MR_TRY(out.status());
  }
  return num_keys;
}

Result<std::string> whole_file(Files& files, const std::string& path) {
  MR_ASSIGN(const auto file, files.open(path));
  MR_ASSIGN(const uint64_t size, file->size());
  std::string bytes(size, '\0');
  MR_ASSIGN(const size_t some, file->read(0, bytes));
  bytes.resize(some);
  return bytes;
}

Result<Report> reduce_partition(const Job& job, const Piece& piece, const Site& site,
                                std::string_view token) {
  MR_ASSIGN(const std::string plan, whole_file(site.files, piece.plan));
  MR_ASSIGN(std::vector<Segment> segments, decode_plan(plan, piece.number).with(piece.plan));
  Scratch scratch(site.files, str_cat(site.spill, "/mapreduce-", token));
  MR_ASSIGN(const std::string folder, scratch.make());
  MR_ASSIGN(Merge merge, Merge::of(site.files, std::move(segments), folder));
  Report report{.kind = piece.kind,
                .number = piece.number,
                .file = str_cat(piece.work, "/reduce-", piece.number, "-", token)};
  MR_ASSIGN(const auto file, site.files.create(report.file));
  Writing out(job.output, *file);
  const bool is_plain =
      !job.reduce.is_function() && job.reduce.combiner().kind() == Combiner::Kind::none;
  MR_ASSIGN(const int64_t num_keys,
            is_plain ? write_pairs(merge, out) : reduce_keys(job, merge, out));
  MR_TRY(out.finish());
  report.counters = out.counted();
  add_count(&report.counters, "keys reduced", num_keys);
  add_count(&report.counters, "records written", out.num_written());
  return report;
}

Status guarded(const Job& job, const Piece& piece, const Site& site, std::string_view token,
               Report* report) {
  // The functions of the output and of the input are the author's, too.
  try {
    MR_ASSIGN(*report, piece.kind == PieceKind::map ? map_split(job, piece, site, token)
                                                    : reduce_partition(job, piece, site, token));
    return {};
  } catch (const std::bad_alloc&) {
    return error(Code::resource_exhausted, "out of memory: make `memory` smaller");
  } catch (const std::exception& thrown) {
    return error(Code::unknown, "a function of the job throws ", std::string_view(thrown.what()));
  } catch (...) {
    return error(Code::unknown, "a function of the job throws what is no std::exception");
  }
}

// With the folders in which there may be no room.
Status told(const Status& failure, const Piece& piece, const Site& site) {
  const bool is_disk = failure.code() == Code::resource_exhausted ||
                       failure.code() == Code::permission_denied ||
                       failure.code() == Code::not_found;
  const Status said =
      is_disk ? failure.then(str_cat("; it writes to ", piece.work, " and ", site.spill)) : failure;
  return said.with(piece.name());
}

}  // namespace

Report attempted(const Job& job, const Piece& piece, const Site& site, std::string_view token) {
  const Clock::Time began = site.clock.now();
  Report report;
  const Status made = guarded(job, piece, site, token, &report);
  if (!made.ok())
    return {.kind = piece.kind, .number = piece.number, .failure = told(made, piece, site)};
  report.seconds = std::chrono::duration<double>(site.clock.now() - began).count();
  return report;
}

}  // namespace millrace::mapreduce

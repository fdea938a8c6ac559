#include "millrace/io/table.h"

#include <leveldb/cache.h>
#include <leveldb/env.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>

#include <new>

namespace millrace::io {
namespace {

std::string_view view(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }
leveldb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

// LevelDB carries our errors as text; what it says by itself is about damaged files.
leveldb::Status carried(const Status& status) {
  return status.ok() ? leveldb::Status() : leveldb::Status::IOError(status.message());
}

// A damaged file may name a block of any size, for which LevelDB asks for memory before it reads:
// what then is thrown ends here.
template <class Work>
Status guarded(const std::string& path, Work work) {
  try {
    const leveldb::Status status = work();
    if (status.ok()) return {};
    return Status(Code::data_loss, str_cat(path, ": ", status.ToString()));
  } catch (const std::bad_alloc&) {
    return Status(Code::data_loss, str_cat(path, ": a block of it is larger than memory"));
  }
}

enum class Kept : uint8_t { no, yes };  // whether blocks that were read are kept

leveldb::ReadOptions read_options(Kept kept) {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = kept == Kept::yes;
  return options;
}

// Bytes of blocks that are kept, so that who looks for one key after the other does not read and
// check a block for each. It is cut into 16 parts, each of which holds a block or two.
constexpr size_t kCacheBytes = 8 << 20;

}  // namespace

// Named, because what holds one is: a batch of sources is one unit to the compiler.
namespace table_files {

// Our file as LevelDB writes to one; keeps our error, which has a code.
class TableSink final : public leveldb::WritableFile {
 public:
  explicit TableSink(millrace::WritableFile& file) : file_(file) {}
  leveldb::Status Append(const leveldb::Slice& data) override {
    if (problem_.ok()) problem_ = file_.append(view(data));
    return carried(problem_);
  }
  leveldb::Status Close() override { return {}; }
  leveldb::Status Flush() override { return {}; }
  leveldb::Status Sync() override { return {}; }
  const Status& problem() const { return problem_; }

 private:
  millrace::WritableFile& file_;
  Status problem_;
};

class TableSource final : public leveldb::RandomAccessFile {
 public:
  TableSource(std::unique_ptr<ReadableFile> file, uint64_t size)
      : file_(std::move(file)), size_(size) {}
  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* scratch) const override {
    if (offset > size_ || n > size_ - offset)
      return leveldb::Status::Corruption("a block passes the end of the file");
    const Result<size_t> done = file_->read(offset, {scratch, n});
    if (!done.ok()) return carried(done.status());
    *result = leveldb::Slice(scratch, *done);
    return {};
  }

 private:
  const std::unique_ptr<ReadableFile> file_;
  const uint64_t size_;
};

}  // namespace table_files

struct TableWriter::Parts {
  explicit Parts(WritableFile& file) : sink(file), builder(options(), &sink) {}
  static leveldb::Options options() {
    leveldb::Options options;
    options.compression = leveldb::kNoCompression;
    options.block_size = 256 << 10;
    return options;
  }

  table_files::TableSink sink;
  leveldb::TableBuilder builder;
  bool is_finished = false;
};

TableWriter::TableWriter(WritableFile& file) : parts_(std::make_unique<Parts>(file)) {}

TableWriter::~TableWriter() {
  if (!parts_->is_finished) parts_->builder.Abandon();
}

Status TableWriter::add(std::string_view key, std::string_view value) {
  if (!is_first_ && key <= last_key_)
    return invalid("key '", key, "' comes after '", last_key_, "'; a table is written in order");
  is_first_ = false;
  last_key_ = key;
  parts_->builder.Add(slice(key), slice(value));
  return parts_->sink.problem();
}

Status TableWriter::finish() {
  parts_->is_finished = true;
  const leveldb::Status status = parts_->builder.Finish();
  MR_TRY(parts_->sink.problem());
  return status.ok() ? Status() : internal("writing a table: ", status.ToString());
}

struct Table::Parts {
  std::string path;
  std::unique_ptr<leveldb::Cache> cache{leveldb::NewLRUCache(kCacheBytes)};
  leveldb::Options options;
  std::unique_ptr<table_files::TableSource> source;
  std::unique_ptr<leveldb::Table> table;  // reads from the source, through the cache
};

Table::Table(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Table::~Table() = default;

Result<std::unique_ptr<Table>> Table::open(std::unique_ptr<ReadableFile> file,
                                           const std::string& path) {
  MR_ASSIGN(const uint64_t size, file->size());
  auto parts = std::make_unique<Parts>();
  parts->path = path;
  parts->options.paranoid_checks = true;
  parts->options.block_cache = parts->cache.get();
  parts->source = std::make_unique<table_files::TableSource>(std::move(file), size);
  MR_TRY(guarded(path, [&] {
    leveldb::Table* opened = nullptr;
    leveldb::Status status =
        leveldb::Table::Open(parts->options, parts->source.get(), size, &opened);
    parts->table.reset(opened);
    return status;
  }));
  return std::unique_ptr<Table>(new Table(std::move(parts)));
}

Result<std::optional<std::string>> Table::find(std::string_view key) const {
  std::optional<std::string> found;
  MR_TRY(guarded(parts_->path, [&] {
    const std::unique_ptr<leveldb::Iterator> at(
        parts_->table->NewIterator(read_options(Kept::yes)));
    at->Seek(slice(key));
    if (at->Valid() && view(at->key()) == key) found = std::string(view(at->value()));
    return at->status();
  }));
  return found;
}

Status Table::each(
    const std::function<Status(std::string_view key, std::string_view value)>& see) const {
  Status seen;
  MR_TRY(guarded(parts_->path, [&] {
    const std::unique_ptr<leveldb::Iterator> at(parts_->table->NewIterator(read_options(Kept::no)));
    for (at->SeekToFirst(); at->Valid() && seen.ok(); at->Next())
      seen = see(view(at->key()), view(at->value()));
    return at->status();
  }));
  return seen;
}

}  // namespace millrace::io

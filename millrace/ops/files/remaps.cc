// Part of families.h: register_remaps.
#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/io/bundle_reader.h"
#include "millrace/io/line_reader.h"
#include "millrace/op/infer.h"
#include "millrace/ops/files/families.h"
#include "millrace/ops/files/file_kernel.h"

namespace millrace {
namespace {

constexpr int64_t kAll = -1;  // a number of lines, or of rows
constexpr int64_t kNew = -1;  // in a remapping: what the old checkpoint does not have

// The first `most` lines of a vocabulary, which there must be.
Result<std::vector<std::string>> read_words(Files& files, const std::string& path, int64_t most) {
  MR_ASSIGN(auto opened, files.open(path));
  io::LineReader lines(std::move(opened));
  std::vector<std::string> words;
  std::string line;
  while (most == kAll || static_cast<int64_t>(words.size()) < most) {
    MR_ASSIGN(const bool has_line, lines.next(&line).with(path));
    if (!has_line) break;
    if (line.empty()) {
      return invalid("Invalid content in ", path, ": empty line found at position ", lines.offset(),
                     ".");
    }
    words.push_back(line);
  }
  if (most != kAll && static_cast<int64_t>(words.size()) < most) {
    return invalid("Invalid vocab_size in ", path, ": expected ", most, " but got ", words.size());
  }
  return words;
}

Result<std::vector<Tensor>> generate_vocab_remapping(const FileWorkplace& at,
                                                     const std::vector<Tensor>& inputs,
                                                     int64_t offset, int64_t count,
                                                     int64_t old_size) {
  MR_ASSIGN(const std::string new_path, scalar_text(inputs[0], "new_vocab_file"));
  MR_ASSIGN(const std::string old_path, scalar_text(inputs[1], "old_vocab_file"));
  MR_ASSIGN(const auto new_words, read_words(at.files, new_path, kAll));
  const auto num_words = static_cast<int64_t>(new_words.size());
  if (offset > num_words || count > num_words - offset) {
    return invalid("new_vocab_offset ", offset, " and num_new_vocab ", count, " ask for more than ",
                   "the ", num_words, " lines of ", new_path);
  }
  MR_ASSIGN(const auto old_words, read_words(at.files, old_path, old_size));
  absl::flat_hash_map<std::string_view, int64_t> old_ids;
  for (const std::string& word : old_words) {
    const auto id = static_cast<int64_t>(old_ids.size());
    const auto [there, is_first] = old_ids.try_emplace(word, id);
    if (!is_first) {
      return failed_precondition("HashTable has different value for same key. Key ", word, " has ",
                                 there->second, " and trying to add value ", id, " (", old_path,
                                 ")");
    }
  }
  MR_ASSIGN(Tensor remapping, Tensor::allocate(DType::i64, Shape{count}));
  const auto into = remapping.mutable_flat<int64_t>();
  int32_t num_present = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto found = old_ids.find(new_words[static_cast<size_t>(offset + i)]);
    const bool is_present = found != old_ids.end();
    into[static_cast<size_t>(i)] = is_present ? found->second : kNew;
    num_present += is_present;
  }
  return std::vector<Tensor>{std::move(remapping), Tensor::scalar(num_present)};
}

// Where the rows or columns of the old matrix go, read from one of the two remappings.
struct Remapping {
  std::vector<bool> is_old;                       // by new id
  absl::flat_hash_map<int64_t, int64_t> new_ids;  // by old id
};

Result<Remapping> read_remapping(const Tensor& tensor, std::string_view what, int64_t count,
                                 std::string_view counted_by) {
  const auto old_ids = tensor.flat<int64_t>();
  if (static_cast<int64_t>(old_ids.size()) != count) {
    return invalid("Size of ", what, " is ", old_ids.size(), " instead of being equal to ",
                   counted_by, "=", count);
  }
  Remapping read{.is_old = std::vector<bool>(old_ids.size()), .new_ids = {}};
  for (size_t i = 0; i < old_ids.size(); ++i) {
    if (old_ids[i] < 0) continue;
    read.is_old[i] = true;
    const auto [there, is_first] = read.new_ids.try_emplace(old_ids[i], static_cast<int64_t>(i));
    if (!is_first) {
      return unimplemented(what, ": old ID ", old_ids[i], " is mapped to both new ID ",
                           there->second, " and ", i, ", which is not supported");
    }
  }
  return read;
}

// Lays the old matrix' rows, a band of them at a time, where they go in the new one.
class Carrier {
 public:
  Carrier(const Remapping& rows, const Remapping* columns, int64_t num_columns, Tensor* into)
      : rows_(rows), columns_(columns), num_columns_(num_columns), into_(*into) {}

  Status carry(const io::BundleReader& from, const std::string& name, const io::BundleEntry& entry,
               int64_t most_rows) {
    if (rows_.new_ids.empty()) return {};
    const auto [first, last] =
        std::ranges::minmax_element(rows_.new_ids, {}, [](const auto& each) { return each.first; });
    const int64_t end = last->first;
    if (end >= entry.shape[0]) {
      return invalid("row_remapping asks for old row ", end, " of ", name, ", which has ",
                     entry.shape[0], " rows");
    }
    for (int64_t begin = first->first; begin <= end;) {
      const int64_t left = end - begin + 1;
      const int64_t count = most_rows <= 0 ? left : std::min(most_rows, left);
      const io::Slice band{{{begin, count}, {0, entry.shape[1]}}};
      MR_ASSIGN(const Tensor read, from.read_slice(name, entry, band));
      carry_band(read, begin);
      begin += count;
    }
    return {};
  }

 private:
  void carry_band(const Tensor& band, int64_t first_row) {
    const int64_t width = band.shape()[1];
    const float* const from = band.flat<float>().data();
    float* const into = into_.mutable_flat<float>().data();
    for (int64_t i = 0; i < band.shape()[0]; ++i) {
      const auto row = rows_.new_ids.find(first_row + i);
      if (row == rows_.new_ids.end()) continue;
      const float* const old_row = from + i * width;
      float* const new_row = into + row->second * num_columns_;
      if (columns_ == nullptr) {
        std::copy_n(old_row, width, new_row);
        continue;
      }
      for (const auto& [old_column, new_column] : columns_->new_ids)
        new_row[new_column] = old_row[old_column];
    }
  }

  const Remapping& rows_;
  const Remapping* const columns_;  // null: columns stay
  const int64_t num_columns_;
  Tensor& into_;
};

// Puts the values, row by row, where the old matrix had nothing to give.
Status fill_new(const Remapping& rows, const Remapping* columns, int64_t num_columns,
                std::span<const float> values, std::span<float> into) {
  const auto num_rows = static_cast<int64_t>(rows.is_old.size());
  const int64_t old_columns =
      columns == nullptr ? num_columns : static_cast<int64_t>(columns->new_ids.size());
  const int64_t num_new =
      num_rows * num_columns - static_cast<int64_t>(rows.new_ids.size()) * old_columns;
  if (static_cast<int64_t>(values.size()) != num_new) {
    return invalid("initializing_values contained ", values.size(), " elements, but ", num_new,
                   " values are missing");
  }
  auto next = values.begin();
  for (size_t row = 0; row < rows.is_old.size(); ++row) {
    for (int64_t column = 0; column < num_columns; ++column) {
      const bool is_old_column = columns == nullptr || columns->is_old[static_cast<size_t>(column)];
      if (rows.is_old[row] && is_old_column) continue;
      into[row * static_cast<size_t>(num_columns) + static_cast<size_t>(column)] = *next++;
    }
  }
  return {};
}

Status check_matrix(const std::string& name, const io::BundleEntry& entry, const Remapping* columns,
                    int64_t num_columns) {
  if (entry.dtype != DType::f32) {
    return invalid("Tensor ", name, " has invalid type ", dtype_name(entry.dtype),
                   " instead of expected type float");
  }
  if (entry.shape.rank() != 2) {
    return invalid("Tensor ", name, " has shape ", entry.shape.to_string(), " of invalid rank ",
                   entry.shape.rank(), " instead of expected shape of rank 2");
  }
  const int64_t old_columns = entry.shape[1];
  if (columns == nullptr && old_columns != num_columns) {
    return invalid("Tensor ", name, " has shape ", entry.shape.to_string(),
                   ", where the size of its 2nd dimension is ", old_columns,
                   " instead of being equal to num_cols=", num_columns);
  }
  if (columns == nullptr) return {};
  for (const auto& [old_column, unused] : columns->new_ids) {
    if (old_column < old_columns) continue;
    return invalid("col_remapping asks for old column ", old_column, " of ", name, ", which has ",
                   old_columns, " columns");
  }
  return {};
}

Result<std::vector<Tensor>> load_and_remap_matrix(const FileWorkplace& at,
                                                  const std::vector<Tensor>& inputs,
                                                  int64_t num_rows, int64_t num_columns,
                                                  int64_t most_rows) {
  for (const size_t slot : {size_t{2}, size_t{3}}) {
    if (inputs[slot].shape().rank() == 1) continue;
    return invalid("The `", slot == 2 ? "row" : "col", "_remapping` tensor must be 1-D, got ",
                   "shape ", inputs[slot].shape().to_string());
  }
  MR_ASSIGN(const std::string prefix, scalar_text(inputs[0], "ckpt_path"));
  MR_ASSIGN(const std::string name, scalar_text(inputs[1], "old_tensor_name"));
  MR_ASSIGN(const Remapping rows, read_remapping(inputs[2], "row_remapping", num_rows, "num_rows"));
  Remapping some_columns;
  const bool moves_columns = inputs[3].num_elements() > 0;
  if (moves_columns) {
    MR_ASSIGN(some_columns, read_remapping(inputs[3], "col_remapping", num_columns, "num_cols"));
  }
  const Remapping* const columns = moves_columns ? &some_columns : nullptr;
  MR_ASSIGN(const auto reader, io::BundleReader::open(at.files, prefix));
  MR_ASSIGN(const io::BundleEntry entry, reader->entry(name));
  MR_TRY(check_matrix(name, entry, columns, num_columns));
  MR_ASSIGN(const Shape shape, Shape::create(std::vector<int64_t>{num_rows, num_columns}));
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::f32, shape));
  MR_TRY(fill_new(rows, columns, num_columns, inputs[4].flat<float>(), made.mutable_flat<float>()));
  MR_TRY(Carrier(rows, columns, num_columns, &made).carry(*reader, name, entry, most_rows));
  return std::vector<Tensor>{std::move(made)};
}

Status infer_vocab_remapping(InferContext& context) {
  context.set_output(1, PartialShape::of_rank(0));
  MR_ASSIGN(const int64_t count, context.attrs().integer("num_new_vocab"));
  return context.set_output(0, PartialShape::create(std::vector<int64_t>{count}));
}

Status infer_remapped_matrix(InferContext& context) {
  MR_ASSIGN(const int64_t rows, context.attrs().integer("num_rows"));
  MR_ASSIGN(const int64_t columns, context.attrs().integer("num_cols"));
  return context.set_output(0, PartialShape::create(std::vector<int64_t>{rows, columns}));
}

}  // namespace

Status register_remaps(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "GenerateVocabRemapping",
      .doc = "For num_new_vocab lines of the new vocabulary, from new_vocab_offset on: the number "
             "of the same line among the first old_vocab_size (-1: all) of the old one, or -1; and "
             "how many were found.",
      .signature =
          "new_vocab_file: string, old_vocab_file: string -> remapping: int64, num_present: int32 "
          "| new_vocab_offset: int >= 0, num_new_vocab: int >= 0, old_vocab_size: int >= -1 = -1",
      .infer = infer_vocab_remapping,
      .cpu = file_kernel(generate_vocab_remapping, integer("new_vocab_offset"),
                         integer("num_new_vocab"), integer("old_vocab_size")),
      .not_differentiable = "its inputs are names of files",
      .foldable = false,
      .cost = Cost::heavy,
  }));
  return ops.add({
      .name = "LoadAndRemapMatrix",
      .doc = "A matrix of the checkpoint ckpt_path in another order: row i is the old row "
             "row_remapping[i], column j the old column col_remapping[j], or j if col_remapping is "
             "empty. Where these are negative, the next of initializing_values, row by row; there "
             "are as many as are needed. With max_rows_in_memory > 0 no more old rows are held at "
             "once.",
      .signature =
          "ckpt_path: string, old_tensor_name: string, row_remapping: int64, col_remapping: int64, "
          "initializing_values: float -> output_matrix: float | "
          "num_rows: int >= 0, num_cols: int >= 1, max_rows_in_memory: int = -1",
      .infer = infer_remapped_matrix,
      .cpu = file_kernel(load_and_remap_matrix, integer("num_rows"), integer("num_cols"),
                         integer("max_rows_in_memory")),
      .not_differentiable = "a checkpoint is no function of what is trained",
      .stateful = true,
      .foldable = false,
      .cost = Cost::heavy,
  });
}

}  // namespace millrace

// Part of families.h: register_dataset_csv_files, rows of CSV files.
//
// Files are cut into records where blocking is allowed (csv_records.h); their fields are read by
// whoever walks.
#include <algorithm>
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/ops/data/csv_records.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/file_records.h"
#include "millrace/ops/loops/arguments.h"

namespace millrace::data {
namespace {

// What the fields of a record become.
class CsvColumns {
 public:
  CsvColumns(CsvFormat format, std::vector<int64_t> excluded, std::vector<DType> types,
             std::vector<Tensor> defaults)
      : format_(std::move(format)),
        excluded_(std::move(excluded)),
        types_(std::move(types)),
        defaults_(std::move(defaults)) {}

  const CsvFormat& format() const { return format_; }

  // Errors: INVALID_ARGUMENT for too many or too few fields, and those that are none.
  Status read(std::string_view record, Element* element) const {
    element->clear();
    CsvRecordFields fields(format_, record);
    std::string field;
    for (int64_t number = 0;; ++number) {
      MR_ASSIGN(const bool is_there, fields.next(&field));
      if (!is_there) break;
      if (!is_wanted(number, element->size())) continue;
      MR_TRY(add(field, element));
    }
    if (element->size() == types_.size()) return {};
    return invalid("Expect ", types_.size(), " fields but have ", element->size(), " in record");
  }

 private:
  // `before`: how many of the fields before it are.
  bool is_wanted(int64_t number, size_t before) const {
    if (!format_.columns.empty())
      return before < format_.columns.size() && format_.columns[before] == number;
    return !std::ranges::binary_search(excluded_, number);
  }

  Status add(const std::string& field, Element* element) const {
    const size_t column = element->size();
    if (column == types_.size())
      return invalid("Expect ", types_.size(), " fields but have more in record");
    MR_ASSIGN(Tensor value, Tensor::allocate(types_[column], {}));
    MR_TRY(put_csv_field(value, 0, format_.is_missing(field) ? nullptr : &field, defaults_[column],
                         {.field = column, .record = std::nullopt}));
    element->push_back(std::move(value));
    return {};
  }

  const CsvFormat format_;
  const std::vector<int64_t> excluded_;  // ascending
  const std::vector<DType> types_;
  const std::vector<Tensor> defaults_;
};
using ColumnsPtr = std::shared_ptr<const CsvColumns>;

class CsvRows final : public DatasetIterator {
 public:
  CsvRows(IteratorPtr records, ColumnsPtr columns)
      : records_(std::move(records)), columns_(std::move(columns)) {}
  Result<Next> next(Pull& pull, Element* element) override {
    MR_ASSIGN(const Next next, records_->next(pull, &record_));
    if (next != Next::element) return next;
    MR_TRY(columns_->read(record_[0].item<std::string>(), element));
    return next;
  }

 private:
  const IteratorPtr records_;
  const ColumnsPtr columns_;
  Element record_;
};

class CsvDataset final : public Dataset {
 public:
  CsvDataset(Components components, std::vector<std::string> names, OpenWork open,
             ColumnsPtr columns)
      : Dataset(std::move(components)),
        names_(std::move(names)),
        open_(std::move(open)),
        columns_(std::move(columns)) {}
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr records, records_of_files(*host, names_, open_));
    return IteratorPtr(std::make_unique<CsvRows>(std::move(records), columns_));
  }

 private:
  const std::vector<std::string> names_;
  const OpenWork open_;
  const ColumnsPtr columns_;
};

// ---- Their ops: inputs in the order of their signatures
// ----------------------------------------------------------

enum Slot : int { kNames, kPacking, kBuffer, kHeader, kDelimiter, kQuotes, kMissing, kSelected };

Result<std::vector<Tensor>> defaults_of(DatasetInputs& inputs) {
  MR_ASSIGN(std::vector<Tensor> defaults, inputs.list("record_defaults"));
  for (size_t i = 0; i < defaults.size(); ++i) MR_TRY(check_csv_default(defaults[i], i));
  return defaults;
}

// Numbers of columns, each larger than the one before.
Result<std::vector<int64_t>> columns_at(DatasetInputs& inputs, int slot, std::string_view what) {
  const Tensor& given = inputs.context().input(slot);
  if (given.shape().rank() != 1) return invalid("`", what, "` must be a vector.");
  MR_ASSIGN(std::vector<int64_t> columns, read_elements(given, what));
  if (std::ranges::adjacent_find(columns, std::greater_equal<>()) != columns.end())
    return invalid(what, " should be strictly increasing indices");
  if (!columns.empty() && columns[0] < 0) return invalid(what, " should be non-negative indices");
  return columns;
}

Result<CsvFormat> format_of(DatasetInputs& inputs, size_t outputs) {
  CsvFormat format;
  MR_ASSIGN(const std::string delimiter, inputs.scalar<std::string>(kDelimiter, "field_delim"));
  if (delimiter.size() != 1) return invalid("field_delim should be only 1 char");
  format.delimiter = delimiter[0];
  MR_ASSIGN(format.has_quotes, inputs.scalar<bool>(kQuotes, "use_quote_delim"));
  MR_ASSIGN(format.missing, inputs.scalar<std::string>(kMissing, "na_value"));
  MR_ASSIGN(format.columns, columns_at(inputs, kSelected, "select_cols"));
  if (!format.columns.empty() && format.columns.size() != outputs)
    return invalid("select_cols should match output size");
  return format;
}

Result<DatasetPtr> make_csv(DatasetInputs& inputs, bool has_excluded) {
  MR_ASSIGN(auto components, inputs.components());
  MR_ASSIGN(std::vector<std::string> names, filenames_at(inputs, kNames));
  MR_ASSIGN(std::vector<Tensor> defaults, defaults_of(inputs));
  // How much is read at a time is not for the caller to say; that it makes sense is checked.
  MR_ASSIGN(const int64_t buffer_size, inputs.scalar<int64_t>(kBuffer, "buffer_size"));
  if (buffer_size <= 0) return invalid("buffer_size should be positive");
  MR_ASSIGN(const bool has_header, inputs.scalar<bool>(kHeader, "header"));
  MR_ASSIGN(const io::Packing packing, packing_at(inputs, kPacking));
  MR_ASSIGN(CsvFormat format, format_of(inputs, components.types.size()));
  std::vector<int64_t> excluded;
  if (has_excluded) {
    MR_ASSIGN(excluded, columns_at(inputs, inputs.context().num_inputs() - 1, "exclude_cols"));
    if (!format.columns.empty() && !excluded.empty())
      return invalid("Either select_cols or exclude_cols should be empty");
  }
  OpenWork open =
      csv_records_of_work({.format = format, .has_header = has_header, .packing = packing});
  auto columns = std::make_shared<const CsvColumns>(std::move(format), std::move(excluded),
                                                    components.types, std::move(defaults));
  return DatasetPtr(std::make_shared<CsvDataset>(std::move(components), std::move(names),
                                                 std::move(open), std::move(columns)));
}

Status check_rank_at_most_one(const PartialShape& shape, std::string_view what) {
  if (!shape.has_rank() || shape.rank() <= 1) return {};
  return invalid("Shape must be at most rank 1 but is rank ", shape.rank(), ": ", what,
                 " has shape ", shape.to_string());
}

Status infer_csv(InferContext& context, bool has_excluded) {
  MR_TRY(check_rank_at_most_one(context.input(kNames), "filenames"));
  for (int slot = kPacking; slot <= kMissing; ++slot)
    MR_TRY(context.input_of_rank(slot, 0).status());
  MR_TRY(context.input_of_rank(kSelected, 1).status());
  const int defaults_end = context.num_inputs() - (has_excluded ? 1 : 0);
  for (int slot = kSelected + 1; slot < defaults_end; ++slot)
    MR_TRY(check_csv_default(context.input(slot)));
  if (has_excluded) MR_TRY(context.input_of_rank(defaults_end, 1).status());
  return infer::scalar(context);
}

OpDef csv_op(std::string name, bool has_excluded) {
  OpDef op = dataset_op(
      std::move(name),
      has_excluded ? "The rows of CSV files, each as its fields; all columns, those that are "
                     "selected, or all that are not excluded."
                   : "The rows of CSV files, each as its fields; all columns, or those that are "
                     "selected.",
      std::string("filenames: string, compression_type: string, buffer_size: int64, header: bool, "
                  "field_delim: string, use_quote_delim: bool, na_value: string, "
                  "select_cols: int64, record_defaults: output_types") +
          (has_excluded ? ", exclude_cols: int64" : ""),
      "output_types: list({float, double, int32, int64, string}) >= 1, "
      "output_shapes: list(shape) >= 1",
      [has_excluded](DatasetInputs& inputs) { return make_csv(inputs, has_excluded); },
      Kind::source);
  op.infer = [has_excluded](InferContext& context) { return infer_csv(context, has_excluded); };
  return op;
}

}  // namespace

Status register_dataset_csv_files(OpRegistry& ops) {
  MR_TRY(ops.add(csv_op("CSVDataset", false)));
  MR_TRY(ops.add(csv_op("CSVDatasetV2", true)));
  return ops.add(csv_op("ExperimentalCSVDataset", false));
}

}  // namespace millrace::data

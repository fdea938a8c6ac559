// Part of families.h: register_dataset_files, records of files one after another.
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/file_records.h"

namespace millrace::data {
namespace {

class FileDataset final : public Dataset {
 public:
  FileDataset(std::vector<std::string> names, OpenWork open)
      : Dataset({{DType::string}, {PartialShape::scalar()}}),
        names_(std::move(names)),
        open_(std::move(open)) {}
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    return records_of_files(*host, names_, open_);
  }

 private:
  const std::vector<std::string> names_;
  const OpenWork open_;
};

// ---- Their ops
// -----------------------------------------------------------------------------------

Result<DatasetPtr> files_dataset(DatasetInputs& inputs, OpenWork open) {
  MR_ASSIGN(std::vector<std::string> names, filenames_at(inputs, 0));
  return DatasetPtr(std::make_shared<FileDataset>(std::move(names), std::move(open)));
}

// How much TensorFlow buffers is its own matter; that it makes sense is checked. Some of its ops
// take -1 for their default.
Status check_buffer_size(const DatasetInputs& inputs, int slot, int64_t least = 0) {
  MR_ASSIGN(const int64_t size, inputs.scalar<int64_t>(slot, "buffer_size"));
  if (size >= least) return {};
  return invalid("`buffer_size` must be >= 0 (0 == default)");
}

Result<DatasetPtr> make_lines(DatasetInputs& inputs) {
  MR_ASSIGN(const io::Packing packing, packing_at(inputs, 1));
  MR_TRY(check_buffer_size(inputs, 2));
  return files_dataset(inputs, lines_of_work(0, packing));
}

Result<DatasetPtr> make_records(DatasetInputs& inputs) {
  MR_ASSIGN(const io::Packing packing, packing_at(inputs, 1));
  MR_TRY(check_buffer_size(inputs, 2, -1));
  if (inputs.context().num_inputs() > 3) {
    for (const int64_t offset : inputs.context().input(3).flat<int64_t>()) {
      if (offset != 0)
        return unimplemented("byte_offsets other than 0: records are read from a file's beginning");
    }
  }
  return files_dataset(inputs, records_of_work(packing));
}

// What a file without packing must be long.
Status check_length(Files& files, const std::string& name, const FixedLengths& lengths) {
  MR_ASSIGN(const FileFacts facts, files.facts(name));
  const int64_t body = static_cast<int64_t>(facts.size) - lengths.header - lengths.footer;
  if (body >= 0 && body % lengths.record == 0) return {};
  return invalid("Excluding the header (", lengths.header, " bytes) and footer (", lengths.footer,
                 " bytes), input file \"", name, "\" has body length ", body,
                 " bytes, which is not an exact multiple of the record length (", lengths.record,
                 " bytes).");
}

Result<DatasetPtr> make_fixed_records(DatasetInputs& inputs) {
  FixedLengths lengths;
  MR_ASSIGN(lengths.header, inputs.scalar<int64_t>(1, "header_bytes"));
  MR_ASSIGN(lengths.record, inputs.scalar<int64_t>(2, "record_bytes"));
  MR_ASSIGN(lengths.footer, inputs.scalar<int64_t>(3, "footer_bytes"));
  if (lengths.header < 0) return invalid("header_bytes must be >= 0");
  if (lengths.record <= 0) return invalid("record_bytes must be > 0");
  if (lengths.footer < 0) return invalid("footer_bytes must be >= 0");
  MR_TRY(check_buffer_size(inputs, 4));
  if (inputs.context().num_inputs() > 5) {
    MR_ASSIGN(lengths.packing, packing_at(inputs, 5));
  }
  OpenWork open = fixed_records_of_work(lengths);
  if (lengths.packing != io::Packing::none) return files_dataset(inputs, std::move(open));
  return files_dataset(
      inputs,
      [lengths, open = std::move(open)](
          Files& files, const std::string& name) -> Result<std::unique_ptr<WorkReader>> {
        MR_TRY(check_length(files, name, lengths));
        return open(files, name);
      });
}

}  // namespace

Status register_dataset_files(OpRegistry& ops) {
  const std::string packed = "filenames: string, compression_type: string, buffer_size: int64";
  const std::string fixed =
      "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, "
      "buffer_size: int64";
  MR_TRY(ops.add(dataset_op("TextLineDataset", "The lines of files, without their ends.", packed,
                            "", make_lines, Kind::source)));
  MR_TRY(ops.add(dataset_op("TFRecordDataset", "The records of TFRecord files.", packed, "",
                            make_records, Kind::source)));
  MR_TRY(ops.add(dataset_op("TFRecordDatasetV2", "The records of TFRecord files.",
                            packed + ", byte_offsets: int64", "", make_records, Kind::source)));
  MR_TRY(ops.add(dataset_op("FixedLengthRecordDataset", "Records of one length out of files.",
                            fixed, "", make_fixed_records, Kind::source)));
  return ops.add(dataset_op(
      "FixedLengthRecordDatasetV2", "Records of one length out of files, which may be packed.",
      fixed + ", compression_type: string", "", make_fixed_records, Kind::source));
}

}  // namespace millrace::data

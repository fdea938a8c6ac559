// Part of families.h: register_reader_handles.
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/infer.h"
#include "millrace/ops/readers/families.h"
#include "millrace/ops/readers/reader.h"
#include "millrace/ops/state/resource_handle_kernel.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

Result<int64_t> not_negative(const KernelSpec& node, std::string_view attr) {
  MR_ASSIGN(const int64_t value, node.attrs.integer(attr));
  if (value < 0) return invalid(attr, " must be >= 0 not ", value);
  return value;
}

Result<ReaderSpec> text_lines(const KernelSpec& node) {
  MR_ASSIGN(const int64_t skipped, not_negative(node, "skip_header_lines"));
  return ReaderSpec{"TextLineReader", str_cat("skip_header_lines ", skipped),
                    lines_of_work(skipped)};
}

Result<ReaderSpec> tf_records(const KernelSpec& node) {
  MR_ASSIGN(const std::string compression, node.attrs.string("compression_type"));
  MR_ASSIGN(const io::Packing packing, io::packing_of(compression));
  return ReaderSpec{"TFRecordReader", str_cat("compression_type '", compression, "'"),
                    records_of_work(packing)};
}

Result<ReaderSpec> whole_files(const KernelSpec&) {
  return ReaderSpec{"WholeFileReader", "no settings", whole_files_of_work(), true};
}

Result<ReaderSpec> identity(const KernelSpec&) {
  return ReaderSpec{"IdentityReader", "no settings", work_itself(), true};
}

Result<ReaderSpec> fixed_lengths(const KernelSpec& node) {
  FixedLengths lengths;
  MR_ASSIGN(lengths.header, not_negative(node, "header_bytes"));
  MR_ASSIGN(lengths.record, not_negative(node, "record_bytes"));
  MR_ASSIGN(lengths.footer, not_negative(node, "footer_bytes"));
  MR_ASSIGN(lengths.hop, not_negative(node, "hop_bytes"));
  // Of empty records a file has no last one.
  if (lengths.record == 0) return invalid("record_bytes must be >= 1 not 0");
  std::string encoding;
  if (node.attrs.op().name.ends_with("V2")) {
    MR_ASSIGN(encoding, node.attrs.string("encoding"));
    MR_ASSIGN(lengths.packing, io::packing_of(encoding).with("encoding"));
  }
  return ReaderSpec{
      "FixedLengthRecordReader",
      str_cat("header_bytes ", lengths.header, ", record_bytes ", lengths.record, ", footer_bytes ",
              lengths.footer, ", hop_bytes ", lengths.hop, ", encoding '", encoding, "'"),
      fixed_records_of_work(lengths)};
}

using ReadReaderSpec = Result<ReaderSpec> (*)(const KernelSpec&);

// What a reader's node says, for ResourceHandleKernel.
template <ReadReaderSpec kRead>
struct ReaderNode {
  using Kind = Reader;
  ReaderSpec spec;

  static Result<ReaderNode> read(const KernelSpec& node) {
    MR_ASSIGN(ReaderSpec spec, kRead(node));
    return ReaderNode{std::move(spec)};
  }
  // As in TensorFlow, nodes of one name are one reader.
  bool shares_node_name() const { return true; }
  Result<std::shared_ptr<Reader>> make(const std::string& name, KernelContext&) const {
    return std::make_shared<Reader>(spec, name);
  }
  Status check(const Reader& found) const { return found.check_same(spec); }
};

// Of a signature, around container and shared_name.
struct ReaderAttrs {
  std::string before = {}, behind = {}, behind_of_v2 = {};
};

// One kind of reader in its two forms: V2 with a resource handle, V1 with a reference to strings.
template <ReadReaderSpec kRead>
Status add_reader(OpRegistry& ops, const std::string& name, const std::string& doc,
                  const ReaderAttrs& attrs) {
  for (const bool v2 : {true, false}) {
    OpDef op = stateful_op(name + (v2 ? "V2" : ""), doc,
                           str_cat("-> reader_handle: ", v2 ? "resource" : "ref(string)", " | ",
                                   attrs.before, "container: string = '', shared_name: string = ''",
                                   attrs.behind, v2 ? attrs.behind_of_v2 : ""),
                           v2 ? InferFn(infer::scalar) : InferFn(infer_handle_strings),
                           kernel_class<ResourceHandleKernel<ReaderNode<kRead>>>(), Cost::cheap);
    op.not_differentiable = "it gives a reader, which is no number";
    MR_TRY(ops.add(std::move(op)));
  }
  return {};
}

}  // namespace

Status register_reader_handles(OpRegistry& ops) {
  MR_TRY(add_reader<text_lines>(ops, "TextLineReader",
                                "A reader that gives the lines of files, without their ends.",
                                {.before = "skip_header_lines: int = 0, "}));
  MR_TRY(add_reader<tf_records>(ops, "TFRecordReader",
                                "A reader that gives the records of TensorFlow's files of records.",
                                {.behind = ", compression_type: string = ''"}));
  MR_TRY(add_reader<whole_files>(ops, "WholeFileReader",
                                 "A reader that gives each file whole, with its name as the key.",
                                 {}));
  MR_TRY(add_reader<identity>(ops, "IdentityReader",
                              "A reader that gives what the queue gave, as key and as value.", {}));
  return add_reader<fixed_lengths>(
      ops, "FixedLengthRecordReader",
      "A reader that gives records of record_bytes each, hop_bytes after one another (0: as long "
      "as a record), between a header and a footer.",
      {.before = "header_bytes: int = 0, record_bytes: int, footer_bytes: int = 0, "
                 "hop_bytes: int = 0, ",
       .behind_of_v2 = ", encoding: string = ''"});
}

}  // namespace millrace

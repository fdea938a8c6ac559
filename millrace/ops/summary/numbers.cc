// Part of families.h: register_number_summaries.
#include <cmath>
#include <set>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/summary/families.h"
#include "millrace/ops/summary/histogram.h"
#include "millrace/ops/summary/summary_message.h"

namespace millrace {
namespace {

// --- ScalarSummary ---

using PutScalars = void (*)(std::span<const std::string> tags, const Tensor& values,
                            std::string* out);

template <class T>
void put_scalars(std::span<const std::string> tags, const Tensor& values, std::string* out) {
  const std::span<const T> numbers = values.flat<T>();
  for (size_t i = 0; i < tags.size(); ++i) {
    const wire::NestedField value(out, summary::kValue);
    summary::put_text(out, summary::kTag, tags[i]);
    wire::put_float_field(out, summary::kSimpleValue,
                          static_cast<float>(static_cast<cpu::Math<T>>(numbers[i])));
  }
}

PutScalars scalars_loop(DType dtype) {
  return cpu::pick<PutScalars>(cpu::Real(), dtype, []<class T>() { return &put_scalars<T>; });
}

Status scalar_summary(KernelContext& context, PutScalars put) {
  const Tensor& tags = context.input(0);
  const Tensor& values = context.input(1);
  if (tags.shape() != values.shape()) {
    const std::string tag =
        tags.num_elements() == 1 ? str_cat(" (tag '", tags.item<std::string>(), "')") : "";
    return invalid("tags and values are not the same shape: ", tags.shape().to_string(),
                   " != ", values.shape().to_string(), tag);
  }
  std::string message;
  put(tags.flat<std::string>(), values, &message);
  summary::set_summary(context, std::move(message));
  return {};
}

// --- HistogramSummary ---

using AddValues = Status (*)(const Tensor& values, std::string_view node, CancelProbe& probe,
                             summary::Histogram& histogram);

template <class T>
Status add_values(const Tensor& values, std::string_view node, CancelProbe& probe,
                  summary::Histogram& histogram) {
  for (const T element : values.flat<T>()) {
    if (!probe.go_on(1)) return probe.status();
    const auto value = static_cast<double>(static_cast<cpu::Math<T>>(element));
    if (std::isnan(value)) return invalid("Nan in summary histogram for: ", node);
    if (std::isinf(value)) return invalid("Infinity in summary histogram for: ", node);
    histogram.add(value);
  }
  return {};
}

AddValues histogram_loop(DType dtype) {
  return cpu::pick<AddValues>(cpu::Real(), dtype, []<class T>() { return &add_values<T>; });
}

Status histogram_summary(KernelContext& context, AddValues add) {
  MR_ASSIGN(const std::string tag, summary::scalar_text(context.input(0), "tags"));
  summary::Histogram histogram;
  CancelProbe probe(context);
  MR_TRY(add(context.input(1), context.node_name(), probe, histogram));
  std::string message;
  {
    const wire::NestedField value(&message, summary::kValue);
    summary::put_text(&message, summary::kTag, tag);
    histogram.put(&message, summary::kHistogram);
  }
  summary::set_summary(context, std::move(message));
  return {};
}

// --- MergeSummary ---

Status read_tags(std::string_view message, std::set<std::string_view>& tags, std::string* out) {
  Status malformed = invalid("Could not parse one of the summary inputs");
  wire::Reader reader(message);
  for (wire::Field field; reader.next(&field);) {
    if (!field.is(summary::kValue, wire::WireType::bytes)) continue;
    std::string_view tag;
    wire::Reader value = reader.inside(field);
    for (wire::Field part; value.next(&part);) {
      if (part.is(summary::kTag, wire::WireType::bytes)) tag = part.bytes;
    }
    if (!value.ok()) return malformed;
    // Those without tags are known by the names of their nodes.
    if (!tag.empty() && !tags.insert(tag).second)
      return invalid("Duplicate tag ", tag, " found in summary inputs");
    wire::put_bytes_field(out, summary::kValue, field.bytes);
  }
  return reader.ok() ? Status() : malformed;
}

Status merge_summary(KernelContext& context) {
  std::set<std::string_view> tags;
  std::string message;
  for (int slot = 0; slot < context.num_inputs(); ++slot) {
    for (const std::string& input : context.input(slot).flat<std::string>())
      MR_TRY(read_tags(input, tags, &message));
  }
  summary::set_summary(context, std::move(message));
  return {};
}

}  // namespace

Status register_number_summaries(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "ScalarSummary",
      .doc = "A Summary with one number per tag.",
      .signature = "tags: string, values: T -> summary: string | T: real",
      .infer = infer::scalar,
      .cpu = kernel_with(scalar_summary, cpu::LoopFor{scalars_loop, 1}),
      .not_differentiable = "its result is a message",
      .examples = {"'loss', 3", "['a' 'b'], [1 2]"},
  }));
  MR_TRY(ops.add({
      .name = "HistogramSummary",
      .doc = "A Summary with the histogram of values, which must be finite.",
      .signature = "tag: string, values: T -> summary: string | T: real = float",
      .infer = infer::scalar,
      .cpu = kernel_with(histogram_summary, cpu::LoopFor{histogram_loop, 1}),
      .not_differentiable = "its result is a message",
      .examples = {"'weights', [1 2 3]", "'nothing', []"},
  }));
  return ops.add({
      .name = "MergeSummary",
      .doc = "A Summary with the values of all inputs, whose tags must differ.",
      .signature = "inputs: N*string -> summary: string | N: int >= 1",
      .infer = infer::scalar,
      .cpu = kernel_with(merge_summary),
      .not_differentiable = "its result is a message",
      .examples = {"'' -> ''", "['' ''], '' -> ''"},
  });
}

}  // namespace millrace

// Part of families.h: register_regexes.
#include <re2/re2.h>

#include <algorithm>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/text/families.h"

namespace millrace {
namespace {

// What a pattern may make of a string at most: an empty match before each byte would double and
// redouble it.
constexpr size_t kLongestReplaced = size_t{1} << 30;

Result<std::shared_ptr<const RE2>> compiled(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_shared<const RE2>(pattern, options);
  if (!regex->ok()) return invalid("Invalid pattern: ", pattern, ", error: ", regex->error());
  return regex;
}

Result<std::string> scalar_of(const Tensor& tensor, std::string_view what) {
  if (!tensor.shape().is_scalar())
    return invalid(what, " must be scalar, but received ", tensor.shape().to_string());
  return tensor.item<std::string>();
}

Result<Tensor> replaced(KernelContext& context, const RE2& regex, const std::string& rewrite,
                        bool everywhere) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(Tensor output, context.allocate(0, input.shape()));
  const auto texts = input.flat<std::string>();
  const auto results = output.mutable_flat<std::string>();
  // Each may put in all that was matched, and matches are parts of one string.
  const auto groups = static_cast<size_t>(std::ranges::count(rewrite, '\\'));
  CancelProbe probe(context);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (groups > kLongestReplaced / (texts[i].size() + 1)) {
      return error(Code::resource_exhausted, "'", context.node_name(), "': a rewrite with ", groups,
                   " groups out of a string of ", texts[i].size(),
                   " bytes could make more than 1 GiB of it");
    }
    const size_t most = everywhere ? texts[i].size() + 1 : 1;
    if (rewrite.size() > kLongestReplaced / most) {
      return error(Code::resource_exhausted, "'", context.node_name(), "': a rewrite of ",
                   rewrite.size(), " bytes at up to ", most,
                   " places of a string could make more than 1 GiB of it");
    }
    results[i] = texts[i];
    if (everywhere) {
      RE2::GlobalReplace(&results[i], regex, rewrite);
    } else {
      RE2::Replace(&results[i], regex, rewrite);
    }
    if (!probe.go_on(static_cast<int64_t>(1 + texts[i].size()))) return probe.status();
  }
  return output;
}

Result<Tensor> matched(KernelContext& context, const RE2& regex) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(Tensor output, context.allocate(0, input.shape()));
  const auto texts = input.flat<std::string>();
  const auto results = output.mutable_flat<bool>();
  CancelProbe probe(context);
  for (size_t i = 0; i < texts.size(); ++i) {
    results[i] = RE2::FullMatch(texts[i], regex);
    if (!probe.go_on(static_cast<int64_t>(1 + texts[i].size()))) return probe.status();
  }
  return output;
}

Result<Tensor> replace(KernelContext& context, bool everywhere) {
  MR_ASSIGN(const std::string pattern, scalar_of(context.input(1), "Pattern"));
  MR_ASSIGN(const std::string rewrite, scalar_of(context.input(2), "Rewrite"));
  MR_ASSIGN(const auto regex, compiled(pattern));
  return replaced(context, *regex, rewrite, everywhere);
}

Result<Tensor> full_match(KernelContext& context) {
  MR_ASSIGN(const std::string pattern, scalar_of(context.input(1), "Pattern"));
  MR_ASSIGN(const auto regex, compiled(pattern));
  return matched(context, *regex);
}

// The pattern of a node, compiled once.
struct BoundRegex {
  Result<std::shared_ptr<const RE2>> read(const KernelSpec& spec) const {
    MR_ASSIGN(const std::string pattern, spec.attrs.string("pattern"));
    return compiled(pattern);
  }
};

Result<Tensor> static_replace(KernelContext& context, const std::shared_ptr<const RE2>& regex,
                              const std::string& rewrite, bool everywhere) {
  return replaced(context, *regex, rewrite, everywhere);
}

Result<Tensor> static_full_match(KernelContext& context, const std::shared_ptr<const RE2>& regex) {
  return matched(context, *regex);
}

constexpr const char* kTexts = "strings have no gradient";

}  // namespace

Status register_regexes(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "RegexReplace",
      .doc = "Each string with what matches the pattern (RE2's syntax) replaced by rewrite, in "
             "which \\\\1 is the first group; the first match alone unless replace_global.",
      .signature = "input: string, pattern: string, rewrite: string -> output: string | "
                   "replace_global: bool = true",
      .infer = infer::same_as_input,
      .cpu = kernel_with(replace, boolean("replace_global")),
      .not_differentiable = kTexts,
      .examples = {"['aab' 'xyz'], 'a(.)', '<\\1>' -> ['<a>b' 'xyz']",
                   "['aaa'], 'a', 'b' -> ['baa'] | replace_global = false"},
  }));
  MR_TRY(ops.add({
      .name = "RegexFullMatch",
      .doc = "Whether the pattern (RE2's syntax) matches the whole of each string.",
      .signature = "input: string, pattern: string -> output: bool",
      .infer = infer::same_as_input,
      .cpu = kernel(full_match),
      .not_differentiable = kTexts,
      .examples = {"['aab' 'xab'], 'a.*' -> [true false]"},
  }));
  MR_TRY(ops.add({
      .name = "StaticRegexReplace",
      .doc = "RegexReplace with a pattern that is part of the graph.",
      .signature = "input: string -> output: string | pattern: string, rewrite: string, "
                   "replace_global: bool = true",
      .infer = infer::same_as_input,
      .cpu = kernel_with(static_replace, BoundRegex(), text("rewrite"), boolean("replace_global")),
      .not_differentiable = kTexts,
      .examples = {"['aab'] -> ['bbb'] | pattern = 'a', rewrite = 'b'"},
  }));
  return ops.add({
      .name = "StaticRegexFullMatch",
      .doc = "RegexFullMatch with a pattern that is part of the graph.",
      .signature = "input: string -> output: bool | pattern: string",
      .infer = infer::same_as_input,
      .cpu = kernel_with(static_full_match, BoundRegex()),
      .not_differentiable = kTexts,
      .examples = {"['aab' 'xab'] -> [true false] | pattern = 'a.*'"},
  });
}

}  // namespace millrace

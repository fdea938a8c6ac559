#include "millrace/ops/recurrent/lstm_step.h"

#include <algorithm>

#include "millrace/ops/recurrent/cell_math.h"

namespace millrace {
void lstm_forward(const LstmSizes& sizes, const LstmOptions& options, const LstmWeights& weights,
                  Tensor& gates, const float* cs_prev, const LstmStates& made) {
  const int64_t n = sizes.cell;
  const float *b = floats_of(weights.b), *wci = floats_of(weights.wci),
              *wcf = floats_of(weights.wcf), *wco = floats_of(weights.wco);
  float* row = static_cast<float*>(gates.mutable_data());
  for (int64_t r = 0; r < sizes.batch; ++r, row += 4 * n) {
    const float* const old = cs_prev + r * n;
    float *const i = made.i + r * n, *const f = made.f + r * n, *const o = made.o + r * n;
    float *const ci = made.ci + r * n, *const cs = made.cs + r * n, *const co = made.co + r * n;
    for (int64_t k = 0; k < 4 * n; ++k) row[k] += b[k];
    std::copy_n(row, n, i);
    std::copy_n(row + options.gate_c() * n, n, ci);
    for (int64_t k = 0; k < n; ++k) f[k] = row[options.gate_f() * n + k] + options.forget_bias;
    std::copy_n(row + 3 * n, n, o);
    if (options.has_peepholes) {
      for (int64_t k = 0; k < n; ++k) i[k] += old[k] * wci[k];
      for (int64_t k = 0; k < n; ++k) f[k] += old[k] * wcf[k];
    }
    sigmoids(i, n);
    sigmoids(f, n);
    tangents(ci, n);
    for (int64_t k = 0; k < n; ++k) cs[k] = i[k] * ci[k] + f[k] * old[k];
    if (options.clip > 0) {
      for (int64_t k = 0; k < n; ++k) cs[k] = std::clamp(cs[k], -options.clip, options.clip);
    }
    if (options.has_peepholes) {
      for (int64_t k = 0; k < n; ++k) o[k] += cs[k] * wco[k];
    }
    std::copy_n(cs, n, co);
    tangents(co, n);
    sigmoids(o, n);
    for (int64_t k = 0; k < n; ++k) made.h[r * n + k] = o[k] * co[k];
  }
}

void lstm_backward(const LstmSizes& sizes, const LstmOptions& options, const LstmWeights& weights,
                   const LstmSeen& seen, const float* cs_prev, const float* cs_grad,
                   const float* h_grad, float* gates_grad, float* cs_prev_grad,
                   const PeepholeGrads& peepholes) {
  const int64_t n = sizes.cell;
  const float *wci = floats_of(weights.wci), *wcf = floats_of(weights.wcf),
              *wco = floats_of(weights.wco);
  for (int64_t r = 0; r < sizes.batch; ++r, gates_grad += 4 * n) {
    for (int64_t k = 0; k < n; ++k) {
      const int64_t at = r * n + k;
      const float i = seen.i[at], f = seen.f[at], o = seen.o[at], ci = seen.ci[at];
      const float co = seen.co[at], old = cs_prev[at], arriving = h_grad[at];
      const float of_o = o * (1 - o) * arriving * co;
      float of_cs = (1 - co * co) * arriving * o + cs_grad[at];
      if (options.has_peepholes) of_cs += of_o * wco[k];
      const float of_ci = (1 - ci * ci) * of_cs * i;
      const float of_f = f * (1 - f) * of_cs * old;
      const float of_i = i * (1 - i) * of_cs * ci;
      gates_grad[k] = of_i;
      gates_grad[options.gate_c() * n + k] = of_ci;
      gates_grad[options.gate_f() * n + k] = of_f;
      gates_grad[3 * n + k] = of_o;
      cs_prev_grad[at] = of_cs * f;
      if (!options.has_peepholes) continue;
      cs_prev_grad[at] += of_i * wci[k] + of_f * wcf[k];
      peepholes.wci[k] += of_i * old;
      peepholes.wcf[k] += of_f * old;
      peepholes.wco[k] += of_o * seen.cs[at];
    }
  }
}

Result<LstmWeights> read_lstm_weights(KernelContext& context, int slot, const LstmSizes& sizes,
                                      const LstmOptions& options) {
  LstmWeights made;
  MR_ASSIGN(made.w, float_input(context, slot, "w", 2));
  MR_TRY(check_dim(made.w, "w", 0, sizes.input + sizes.cell, "input_size + cell_size"));
  // Divided, lest four times a size were more than can be counted.
  if (made.w.shape().dim(1) % 4 != 0 || made.w.shape().dim(1) / 4 != sizes.cell) {
    return invalid("w.dim_size(1) != cell_size * 4: ", made.w.shape().dim(1), " vs. 4 * ",
                   sizes.cell);
  }
  MR_ASSIGN(made.wci, float_input(context, slot + 1, "wci", 1));
  MR_ASSIGN(made.wcf, float_input(context, slot + 2, "wcf", 1));
  MR_ASSIGN(made.wco, float_input(context, slot + 3, "wco", 1));
  if (options.has_peepholes) {
    MR_TRY(check_dim(made.wci, "wci", 0, sizes.cell, "cell_size"));
    MR_TRY(check_dim(made.wcf, "wcf", 0, sizes.cell, "cell_size"));
    MR_TRY(check_dim(made.wco, "wco", 0, sizes.cell, "cell_size"));
  }
  MR_ASSIGN(made.b, float_input(context, slot + 4, "b", 1));
  MR_TRY(check_dim(made.b, "b", 0, made.w.shape().dim(1), "cell_size * 4"));
  return made;
}

Result<LstmOptions> read_lstm_options(const KernelSpec& spec, GateOrder order) {
  LstmOptions made;
  made.order = order;
  MR_ASSIGN(made.has_peepholes, spec.attrs.boolean("use_peephole"));
  if (spec.attrs.find("forget_bias") != nullptr) {
    MR_ASSIGN(made.forget_bias, spec.attrs.real("forget_bias"));
  }
  if (spec.attrs.find("cell_clip") != nullptr) {
    MR_ASSIGN(made.clip, spec.attrs.real("cell_clip"));
  }
  return made;
}

}  // namespace millrace

// Part of families.h: register_sound_summaries.
#include <algorithm>
#include <cmath>
#include <limits>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/summary/families.h"
#include "millrace/ops/summary/summary_message.h"

namespace millrace {
namespace {

void put_little(std::string* out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) *out += static_cast<char>(value >> (8 * i));
}

struct Sound {
  std::span<const float> samples;  // frame by frame, channels inside
  int64_t channels = 0, frames = 0;
  uint32_t rate = 0;  // frames in a second
};

// | "RIFF" | size 4 | "WAVE" | "fmt " | 16 u32 | PCM u16 | channels u16 | rate u32 | bytes a second
// u32 | bytes a frame u16 | bits u16 | "data" | size u32 | samples i16 ... |
std::string wav_of(const Sound& sound) {
  constexpr uint64_t kHead = 44, kSampleBytes = 2, kPcm = 1;
  const uint64_t frame_bytes = kSampleBytes * static_cast<uint64_t>(sound.channels);
  const uint64_t data_bytes = frame_bytes * static_cast<uint64_t>(sound.frames);
  std::string file = "RIFF";
  put_little(&file, kHead - 8 + data_bytes, 4);
  file += "WAVEfmt ";
  put_little(&file, 16, 4);
  put_little(&file, kPcm, 2);
  put_little(&file, static_cast<uint64_t>(sound.channels), 2);
  put_little(&file, sound.rate, 4);
  put_little(&file, sound.rate * frame_bytes, 4);
  put_little(&file, frame_bytes, 2);
  put_little(&file, kSampleBytes * 8, 2);
  file += "data";
  put_little(&file, data_bytes, 4);
  for (const float sample : sound.samples) {
    const float scaled = std::clamp(std::round(sample * 32768.0F), -32768.0F, 32767.0F);
    // A sample that is no number is silence.
    const auto number = static_cast<int16_t>(std::isnan(scaled) ? 0.0F : scaled);
    put_little(&file, static_cast<uint16_t>(number), 2);
  }
  return file;
}

Status audio_summary(KernelContext& context, float rate, int64_t max_outputs) {
  MR_ASSIGN(const std::string tag, summary::scalar_text(context.input(0), "Tag"));
  const Tensor& tensor = context.input(1);
  const Shape& shape = tensor.shape();
  if (shape.rank() != 2 && shape.rank() != 3)
    return invalid("Tensor must be 3-D or 2-D, got: ", shape.to_string());
  const int64_t frames = shape[1], channels = shape.rank() == 2 ? 1 : shape[2];
  if (!(rate > 0) || rate >= 4294967296.0F)
    return invalid("sample_rate must be in (0, 2^32), got: ", rate);
  constexpr int64_t kMostChannels = std::numeric_limits<uint16_t>::max();
  if (channels < 1 || channels > kMostChannels)
    return invalid("num_channels must be in [1, 2^16), got: ", channels);
  if (frames > (int64_t{std::numeric_limits<uint32_t>::max()} - 44) / (2 * channels)) {
    return invalid("Provided channels and frames cannot be encoded as a WAV: ", channels, " and ",
                   frames);
  }
  const auto size = static_cast<size_t>(frames * channels);
  std::string message;
  CancelProbe probe(context);
  for (int64_t i = 0; i < std::min(max_outputs, shape[0]); ++i) {
    const std::string wav =
        wav_of({.samples = tensor.flat<float>().subspan(static_cast<size_t>(i) * size, size),
                .channels = channels,
                .frames = frames,
                .rate = static_cast<uint32_t>(std::llrint(rate))});
    const wire::NestedField value(&message, summary::kValue, wav.size());
    summary::put_text(&message, summary::kTag, summary::tag_of(tag, "audio", i, max_outputs));
    const wire::NestedField audio(&message, summary::kAudio, wav.size());
    wire::put_float_field(&message, summary::kSampleRate, rate);
    summary::put_number(&message, summary::kNumChannels, channels);
    summary::put_number(&message, summary::kLengthFrames, frames);
    summary::put_text(&message, summary::kEncodedAudio, wav);
    summary::put_text(&message, summary::kContentType, "audio/wav");
    if (!probe.go_on(static_cast<int64_t>(size))) return probe.status();
  }
  summary::set_summary(context, std::move(message));
  return {};
}

Status audio_summary_v2(KernelContext& context, int64_t max_outputs) {
  const Tensor& rate = context.input(2);
  if (rate.num_elements() != 1)
    return invalid("sample_rate must be a scalar, got shape ", rate.shape().to_string());
  return audio_summary(context, rate.flat<float>()[0], max_outputs);
}

}  // namespace

Status register_sound_summaries(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "AudioSummary",
      .doc = "A Summary with up to max_outputs sounds of a batch [batch, frames, channels] or "
             "[batch, frames], as WAV.",
      .signature = "tag: string, tensor: float -> summary: string | sample_rate: float, "
                   "max_outputs: int >= 1 = 3",
      .infer = infer::scalar,
      .cpu = kernel_with(audio_summary, real("sample_rate"), integer("max_outputs")),
      .not_differentiable = "its result is a message",
      .examples = {"'tag', [[0.5 -0.5]] | sample_rate = 44100.0"},
  }));
  return ops.add({
      .name = "AudioSummaryV2",
      .doc = "A Summary with up to max_outputs sounds of a batch [batch, frames, channels] or "
             "[batch, frames], as WAV, at a rate that may differ from step to step.",
      .signature = "tag: string, tensor: float, sample_rate: float -> summary: string | "
                   "max_outputs: int >= 1 = 3",
      .infer = infer::scalar,
      .cpu = kernel_with(audio_summary_v2, integer("max_outputs")),
      .not_differentiable = "its result is a message",
      .examples = {"'tag', [[0.5 -0.5]], 44100"},
  });
}

}  // namespace millrace

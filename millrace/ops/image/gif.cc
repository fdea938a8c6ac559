#include "millrace/ops/image/gif.h"

#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace millrace {
namespace {

int read_some(GifFileType* gif, GifByteType* to, int count) {
  auto& left = *static_cast<std::string_view*>(gif->UserData);
  const size_t given = std::min(left.size(), static_cast<size_t>(count));
  std::memcpy(to, left.data(), given);
  left.remove_prefix(given);
  return static_cast<int>(given);
}

std::string words_of(int gif_error) {
  const char* const words = GifErrorString(gif_error);
  return words == nullptr ? "Unknown error" : words;
}

using GifColor = std::array<uint8_t, 3>;

struct GifFrame {
  size_t left = 0, top = 0, width = 0, height = 0;
  Tensor places;                 // of each pixel's colour, uint8 [height, width]; none if not drawn
  std::vector<GifColor> colors;  // none if it has no map
  int transparent = NO_TRANSPARENT_COLOR;
};

// A code of twelve bits stands for at most 4096 pixels, and a shorter one for fewer still.
constexpr size_t kMostPixelsOfByte = 4096 * 8 / 12 + 1;

// Reads records one after another, up to what is damaged.
class GifReader {
 public:
  GifReader(std::string_view bytes, GifFrames drawn, CancelProbe& probe)
      : left_(bytes), drawn_(drawn), probe_(probe) {
    gif_ = DGifOpen(&left_, read_some, &open_error_);
  }
  ~GifReader() {
    if (gif_ != nullptr) DGifCloseFile(gif_, nullptr);
  }
  GifReader(const GifReader&) = delete;
  GifReader& operator=(const GifReader&) = delete;

  // Why it is no GIF at all; empty if it is one.
  std::string refusal() const { return gif_ != nullptr ? "" : words_of(open_error_); }

  // All whole frames. Errors are RESOURCE_EXHAUSTED and the step's end; what is wrong with the
  // bytes is a `problem`.
  Status read() {
    bool goes_on = true;
    while (goes_on) {
      GifRecordType type = UNDEFINED_RECORD_TYPE;
      if (DGifGetRecordType(gif_, &type) == GIF_ERROR) {
        damaged();
        return {};
      }
      if (type == TERMINATE_RECORD_TYPE) return {};
      if (type == IMAGE_DESC_RECORD_TYPE) {
        MR_ASSIGN(goes_on, read_frame());
      } else if (type == EXTENSION_RECORD_TYPE) {
        goes_on = read_extension();
      }
    }
    return {};
  }

  const std::vector<GifFrame>& frames() const { return frames_; }
  const std::string& problem() const { return problem_; }

 private:
  bool damaged() {
    problem_ = words_of(gif_->Error);
    return false;
  }

  // Which colour the next frame lets the last one shine through, if the block says so.
  bool read_extension() {
    int code = 0;
    GifByteType* block = nullptr;
    if (DGifGetExtension(gif_, &code, &block) == GIF_ERROR) return damaged();
    // The first one of a frame counts, and of that the first piece.
    if (block != nullptr && code == GRAPHICS_EXT_FUNC_CODE && !has_control_) {
      GraphicsControlBlock control;
      has_control_ = true;
      if (DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
        transparent_ = control.TransparentColor;
    }
    while (block != nullptr) {
      if (DGifGetExtensionNext(gif_, &block) == GIF_ERROR) return damaged();
    }
    return true;
  }

  // False if it is not whole.
  Result<bool> read_frame() {
    if (DGifGetImageDesc(gif_) == GIF_ERROR) return damaged();
    const GifImageDesc& said = gif_->Image;
    GifFrame frame{.left = static_cast<size_t>(said.Left),
                   .top = static_cast<size_t>(said.Top),
                   .width = static_cast<size_t>(said.Width),
                   .height = static_cast<size_t>(said.Height),
                   .transparent = std::exchange(transparent_, NO_TRANSPARENT_COLOR)};
    has_control_ = false;
    // A few bytes can ask for four gigabytes of pixels.
    if (frame.width == 0 || frame.height == 0 ||
        frame.width * frame.height / kMostPixelsOfByte > left_.size()) {
      problem_ = str_cat("a frame of ", frame.height, " x ", frame.width, " pixels in ",
                         left_.size(), " bytes");
      return false;
    }
    const bool is_drawn = drawn_ == GifFrames::all || frames_.empty();
    const ColorMapObject* map = said.ColorMap != nullptr ? said.ColorMap : gif_->SColorMap;
    // A frame of fifteen bytes may have a map of 768.
    if (is_drawn && map != nullptr) {
      for (int i = 0; i < map->ColorCount; ++i)
        frame.colors.push_back({map->Colors[i].Red, map->Colors[i].Green, map->Colors[i].Blue});
    }
    const Shape shape = {is_drawn ? static_cast<int64_t>(frame.height) : 1,
                         static_cast<int64_t>(frame.width)};
    MR_ASSIGN(frame.places, Tensor::allocate(DType::u8, shape));
    MR_ASSIGN(const bool is_whole, read_rows(frame, is_drawn));
    if (!is_whole) return false;
    if (!is_drawn) frame.places = Tensor();
    frames_.push_back(std::move(frame));
    return true;
  }

  // A frame that is not drawn has one row for all.
  Result<bool> read_rows(GifFrame& frame, bool is_drawn) {
    uint8_t* const places = frame.places.mutable_flat<uint8_t>().data();
    struct Pass {
      size_t begin, step;
    };
    static constexpr Pass kInterlaced[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    static constexpr Pass kPlain[] = {{0, 1}};
    const auto passes = gif_->Image.Interlace ? std::span<const Pass>(kInterlaced) : kPlain;
    for (const Pass& pass : passes) {
      for (size_t y = pass.begin; y < frame.height; y += pass.step) {
        uint8_t* const row = is_drawn ? places + y * frame.width : places;
        if (DGifGetLine(gif_, row, static_cast<int>(frame.width)) == GIF_ERROR) return damaged();
        if (!probe_.go_on(static_cast<int64_t>(frame.width))) return probe_.status();
      }
    }
    return true;
  }

  std::string_view left_;  // what is not read yet
  GifFrames drawn_;
  CancelProbe& probe_;
  GifFileType* gif_ = nullptr;
  int open_error_ = 0;
  bool has_control_ = false;
  int transparent_ = NO_TRANSPARENT_COLOR;
  std::vector<GifFrame> frames_;
  std::string problem_;
};

struct Canvas {
  size_t height = 0, width = 0;
};

// What of a frame lies on the canvas.
std::string draw(const GifFrame& frame, const Canvas& canvas, uint8_t* pixels) {
  const auto places = frame.places.flat<uint8_t>();
  const size_t bottom = std::min(frame.top + frame.height, canvas.height);
  const size_t right = std::min(frame.left + frame.width, canvas.width);
  for (size_t y = frame.top; y < bottom; ++y) {
    for (size_t x = frame.left; x < right; ++x) {
      const uint8_t place = places[(y - frame.top) * frame.width + x - frame.left];
      if (place == frame.transparent) continue;
      if (place >= frame.colors.size()) {
        return str_cat("found color index ", int{place}, " outside of color map range ",
                       frame.colors.size());
      }
      std::ranges::copy(frame.colors[place], pixels + (y * canvas.width + x) * 3);
    }
  }
  return "";
}

}  // namespace

Result<Tensor> decode_gif(std::string_view bytes, GifFrames frames, CancelProbe& probe) {
  const auto wrong = [&](const auto&... why) {
    return invalid("Invalid GIF data (size ", bytes.size(), "), ", why...);
  };
  GifReader reader(bytes, frames, probe);
  if (!reader.refusal().empty()) return wrong("failed to open gif file: ", reader.refusal());
  MR_TRY(reader.read());
  const std::vector<GifFrame>& read = reader.frames();
  if (read.empty()) {
    return wrong("failed to slurp gif file: ",
                 reader.problem().empty() ? words_of(D_GIF_ERR_NO_IMAG_DSCR) : reader.problem());
  }
  if (frames == GifFrames::only && read.size() > 1) {
    return invalid("Got ", read.size(),
                   " frames, but animated gifs can only be decoded by tf.io.decode_gif or "
                   "tf.io.decode_image");
  }
  Canvas canvas;
  for (const GifFrame& frame : read) {
    canvas.height = std::max(canvas.height, frame.height);
    canvas.width = std::max(canvas.width, frame.width);
  }
  const size_t count = frames == GifFrames::all ? read.size() : 1;
  MR_ASSIGN(const Shape shape, Shape::create(std::array{
                                   static_cast<int64_t>(count), static_cast<int64_t>(canvas.height),
                                   static_cast<int64_t>(canvas.width), int64_t{3}}));
  MR_ASSIGN(Tensor images, Tensor::allocate(DType::u8, shape));
  uint8_t* pixels = images.mutable_flat<uint8_t>().data();
  const size_t size = canvas.height * canvas.width * 3;
  for (size_t i = 0; i < count; ++i, pixels += size) {
    if (read[i].colors.empty()) return wrong("missing color map for frame ", i);
    if (i == 0) {
      std::memset(pixels, 0, size);
    } else {
      std::memcpy(pixels, pixels - size, size);
    }
    const std::string problem = draw(read[i], canvas, pixels);
    if (!problem.empty()) return wrong(problem, " in frame ", i);
    if (!probe.go_on(static_cast<int64_t>(size))) return probe.status();
  }
  return images;
}

}  // namespace millrace

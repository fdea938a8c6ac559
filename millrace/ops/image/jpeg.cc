#include "millrace/ops/image/jpeg.h"

#include <jpeglib.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>
// After it, which it needs.
#include <jerror.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// A header of a few bytes can ask for 4 GiB of pixels, and for the time to make them.
constexpr int64_t kLargest = int64_t{1} << 29;

// What libjpeg is told to do with errors: to jump back, with its words.
struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
  bool is_cut_off;  // the bytes ended, and libjpeg made up the rest
};

void jump_back(j_common_ptr info) {
  Errors& errors = *reinterpret_cast<Errors*>(info->err);
  errors.manager.format_message(info, errors.message);
  std::longjmp(errors.back, 1);
}

void say_nothing(j_common_ptr) {}

// Warnings are of no account, as in other programs that show images: but for the end of the bytes.
void hear_warning(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF)
    reinterpret_cast<Errors*>(info->err)->is_cut_off = true;
}

void set_up(Errors& errors) {
  jpeg_std_error(&errors.manager);
  errors.manager.error_exit = jump_back;
  errors.manager.output_message = say_nothing;
  errors.manager.emit_message = hear_warning;
  errors.message[0] = '\0';
}

// A decompressor, as long as it is wanted.
struct Decompressor {
  jpeg_decompress_struct info{};
  Errors errors{};

  Decompressor() {
    set_up(errors);
    info.err = &errors.manager;
  }
  ~Decompressor() { jpeg_destroy_decompress(&info); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
};

// The functions that jump. They say false, and `errors.message` why.

bool read_header(Decompressor& jpeg, const char* bytes, size_t size) {
  if (setjmp(jpeg.errors.back) != 0) return false;
  jpeg_create_decompress(&jpeg.info);
  jpeg_mem_src(&jpeg.info, reinterpret_cast<const unsigned char*>(bytes),
               static_cast<unsigned long>(size));  // NOLINT(google-runtime-int): libjpeg's type
  jpeg_read_header(&jpeg.info, TRUE);
  return true;
}

// How large the image becomes, after choose_output.
bool find_size(Decompressor& jpeg) {
  if (setjmp(jpeg.errors.back) != 0) return false;
  jpeg_calc_output_dimensions(&jpeg.info);
  return true;
}

// Reads all of one that comes in several scans: its coefficients then are in memory at once.
bool begin_decoding(Decompressor& jpeg) {
  if (setjmp(jpeg.errors.back) != 0) return false;
  jpeg_start_decompress(&jpeg.info);
  return true;
}

bool read_row(Decompressor& jpeg, unsigned char* row) {
  if (setjmp(jpeg.errors.back) != 0) return false;
  return jpeg_read_scanlines(&jpeg.info, &row, 1) == 1;
}

Status failed(const Errors& errors) {
  return invalid("Invalid JPEG data or crop window: ",
                 errors.message[0] == '\0' ? "it is cut off" : errors.message);
}

// Four channels as three, of inks as Adobe writes them (turned round) or not.
void from_inks(const unsigned char* inks, unsigned char* rgb, int64_t width, bool is_adobe) {
  for (int64_t i = 0; i < width; ++i, inks += 4, rgb += 3) {
    const int black = is_adobe ? inks[3] : 255 - inks[3];
    for (int c = 0; c < 3; ++c) {
      const int ink = is_adobe ? inks[c] : 255 - inks[c];
      rgb[c] = static_cast<unsigned char>(ink * black / 255);
    }
  }
}

void choose_output(jpeg_decompress_struct& info, const JpegOptions& options) {
  const bool has_inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  const int channels = options.channels != 0 ? options.channels : std::min(info.num_components, 3);
  info.out_color_space = has_inks ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(options.ratio);
  info.do_fancy_upsampling = options.fancy_upscaling ? TRUE : FALSE;
  info.dct_method = options.fast_dct ? JDCT_IFAST : JDCT_ISLOW;
}

}  // namespace

Result<JpegSize> jpeg_size(std::string_view bytes) {
  Decompressor jpeg;
  if (!read_header(jpeg, bytes.data(), bytes.size())) return failed(jpeg.errors);
  return JpegSize{static_cast<int64_t>(jpeg.info.image_height),
                  static_cast<int64_t>(jpeg.info.image_width), jpeg.info.num_components};
}

Result<Tensor> decode_jpeg(std::string_view bytes, const JpegOptions& options, CancelProbe& probe) {
  Decompressor jpeg;
  jpeg_decompress_struct& info = jpeg.info;
  if (!read_header(jpeg, bytes.data(), bytes.size())) return failed(jpeg.errors);
  choose_output(info, options);
  if (!find_size(jpeg)) return failed(jpeg.errors);
  const bool has_inks = info.out_color_space == JCS_CMYK;
  const int64_t channels = has_inks ? 3 : info.output_components;
  if (has_inks && options.channels == 1)
    return invalid("an image of four inks can't be decoded to gray: ask for 0 or 3 channels");
  const auto height = static_cast<int64_t>(info.output_height);
  const auto width = static_cast<int64_t>(info.output_width);
  if (height * width * channels >= kLargest) {
    return invalid("Image too large: ", height, " x ", width, " pixels of ", channels,
                   " channels; at most 2^29 bytes");
  }
  const auto held =
      static_cast<int64_t>(info.image_height) * info.image_width * info.num_components;
  if (jpeg_has_multiple_scans(&info) != FALSE && held >= 2 * kLargest) {
    return invalid("Image too large: ", info.image_height, " x ", info.image_width, " pixels of ",
                   info.num_components, " components, in several scans; at most 2^30 values");
  }
  if (!begin_decoding(jpeg)) return failed(jpeg.errors);
  MR_ASSIGN(Tensor image, Tensor::zeros(DType::u8, {height, width, channels}));
  unsigned char* row = image.mutable_flat<uint8_t>().data();
  std::vector<unsigned char> inks(has_inks ? static_cast<size_t>(width) * 4 : 0);
  for (int64_t y = 0; y < height; ++y, row += width * channels) {
    const bool is_whole = read_row(jpeg, has_inks ? inks.data() : row) && !jpeg.errors.is_cut_off;
    if (!is_whole) {
      if (!options.try_recover_truncated ||
          static_cast<float>(y) < options.acceptable_fraction * static_cast<float>(height))
        return failed(jpeg.errors);
      break;
    }
    if (has_inks) from_inks(inks.data(), row, width, info.saw_Adobe_marker != 0);
    if (!probe.go_on(width * 8)) return probe.status();
  }
  return image;
}

namespace {

struct Compressor {
  jpeg_compress_struct info{};
  Errors errors{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type

  Compressor() {
    set_up(errors);
    info.err = &errors.manager;
  }
  ~Compressor() {
    jpeg_destroy_compress(&info);
    std::free(bytes);  // NOLINT(cppcoreguidelines-no-malloc): libjpeg allocates so
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
};

bool write_image(Compressor& jpeg, const unsigned char* pixels, int64_t height, int64_t width,
                 int channels, const JpegWriting& writing, std::string_view packet) {
  if (setjmp(jpeg.errors.back) != 0) return false;
  jpeg_compress_struct& info = jpeg.info;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &jpeg.bytes, &jpeg.size);
  info.image_height = static_cast<JDIMENSION>(height);
  info.image_width = static_cast<JDIMENSION>(width);
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  if (writing.optimize_size) info.optimize_coding = TRUE;
  info.density_unit = static_cast<UINT8>(writing.density_unit);
  info.X_density = static_cast<UINT16>(writing.x_density);
  info.Y_density = static_cast<UINT16>(writing.y_density);
  jpeg_set_quality(&info, writing.quality, TRUE);
  if (writing.progressive) jpeg_simple_progression(&info);
  if (!writing.chroma_downsampling) {
    for (int i = 0; i < info.num_components; ++i)
      info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = 1;
  }
  jpeg_start_compress(&info, TRUE);
  if (!packet.empty()) {
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(packet.data()),
                      static_cast<unsigned>(packet.size()));
  }
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<unsigned char*>(pixels) + info.next_scanline * width * channels;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

Result<std::string> encode_jpeg(const Tensor& image, const JpegWriting& writing) {
  const Shape& shape = image.shape();
  // Behind the name by which readers know what it is.
  constexpr std::string_view kXmp("http://ns.adobe.com/xap/1.0/\0", 29);
  std::string packet;
  if (!writing.xmp_metadata.empty()) packet = str_cat(kXmp, writing.xmp_metadata);
  Compressor jpeg;
  if (!write_image(jpeg, image.flat<uint8_t>().data(), shape.dim(0), shape.dim(1),
                   static_cast<int>(shape.dim(2)), writing, packet))
    return invalid("JPEG encoding failed: ", jpeg.errors.message);
  return std::string(reinterpret_cast<const char*>(jpeg.bytes), jpeg.size);
}

}  // namespace millrace

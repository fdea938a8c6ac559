// The families of ops in this room: images.
//
// A family is a source file with its ops as values; register_image adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_image(OpRegistry& ops);

// Images of another size: ResizeBilinear and its kin, with their gradients.
Status register_resizes(OpRegistry& ops);

// Colours: RGBToHSV, AdjustHue, AdjustContrastv2 …
Status register_colors(OpRegistry& ops);

// Images as bytes: DecodeJpeg, DecodePng, DecodeGif, DecodeBmp, DecodeImage,
// ExtractJpegShape, EncodeJpeg, EncodePng.
Status register_codecs(OpRegistry& ops);

// Boxes on images: DrawBoundingBoxes.
Status register_boxes(OpRegistry& ops);

// Boxes that do not hide each other: NonMaxSuppression, its versions, ...WithOverlaps.
Status register_suppressions(OpRegistry& ops);

// The same in many classes: CombinedNonMaxSuppression.
Status register_combined_suppressions(OpRegistry& ops);

// Images scaled and moved, by kernels of any width: ScaleAndTranslate and its gradient.
Status register_scalings(OpRegistry& ops);

// Images seen from elsewhere: ImageProjectiveTransformV2 and V3.
Status register_projections(OpRegistry& ops);

// Parts of images, all of one size: CropAndResize and its gradients.
Status register_crops(OpRegistry& ops);

// Windows of images that may reach over the border: ExtractGlimpse.
Status register_glimpses(OpRegistry& ops);

// Parts of images at random: SampleDistortedBoundingBox and its kin.
Status register_distorted_boxes(OpRegistry& ops);

}  // namespace millrace

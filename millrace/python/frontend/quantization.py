"""tf.quantization: numbers rounded to what few bits can say."""

from millrace._gen import (
    fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient,
)
from millrace._gen import quantize_and_dequantize_v2 as quantize_and_dequantize
from millrace._ops.quantizing import dequantize, quantize

"""Numbers and lists of Python's as inputs of ops, the same text for TensorFlow and for Millrace.

`python3 literal_programs.py tensorflow` (or `millrace`) prints a JSON object: for each call the types of the
node's inputs and outputs, or the name of the error. Run by test_literals_beside_tensorflow.py.
"""

import json
import sys

from programs import module_named

IMAGE = [[[[1], [2]], [[3], [4]]]]
WINDOW = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}
BOXES = {"boxes": [[0, 0, 1, 1]], "scores": [1], "max_output_size": 1}
# (op, arguments): most of these ops have a type attribute with a default.
CALLS = [
    ("MaxPool", {"input": IMAGE, **WINDOW}),
    ("LRN", {"input": IMAGE}),
    ("LeakyRelu", {"features": [1, 2]}),
    ("RGBToHSV", {"images": [[[1, 2, 3]]]}),
    ("Angle", {"input": [1, 2]}),
    ("Real", {"input": [1, 2]}),
    ("Imag", {"input": [1.5]}),
    ("ComplexAbs", {"x": [1]}),
    ("Transpose", {"x": [[1, 2]], "perm": [1, 0]}),
    ("Fill", {"dims": [2], "value": 3}),
    ("Range", {"start": 0, "limit": 4, "delta": 1}),
    ("Range", {"start": 0.0, "limit": 4.0, "delta": 1.0}),
    ("Range", {"start": 0, "limit": 4.5, "delta": 1}),
    ("Cumsum", {"x": [1, 2], "axis": 0}),
    ("Cumsum", {"x": [1.0, 2], "axis": 0}),
    ("Bucketize", {"input": [1, 2], "boundaries": [1.5]}),
    ("LinSpace", {"start": 0, "stop": 4, "num": 2}),
    ("RandomUniformInt", {"shape": [2], "minval": 0, "maxval": 5}),
    ("Multinomial", {"logits": [[1, 2]], "num_samples": 2}),
    ("StatelessMultinomial", {"logits": [[1, 2]], "num_samples": 2, "seed": [1, 2]}),
    ("Betainc", {"a": 1, "b": 1, "x": 1}),
    ("UnsortedSegmentSum", {"data": [1, 2], "segment_ids": [0, 0], "num_segments": 1}),
    ("AsString", {"input": [1, 2]}),
    ("Softmax", {"logits": [1, 2]}),
    ("HistogramFixedWidth", {"values": [1, 2], "value_range": [0, 3], "nbins": 3}),
    ("Reshape", {"tensor": [1, 2], "shape": [2, 1]}),
    ("Gather", {"params": [1], "indices": [0]}),
    ("NonMaxSuppressionV3", {**BOXES, "iou_threshold": 0.5, "score_threshold": 0.1}),
    ("ResizeBilinear", {"images": IMAGE, "size": [1, 1]}),
    ("Unique", {"x": [1, 1]}),
    ("Roll", {"input": [1, 2], "shift": 1, "axis": 0}),
    ("MirrorPad", {"input": [1, 2], "paddings": [[1, 1]], "mode": "REFLECT"}),
    ("SoftmaxCrossEntropyWithLogits", {"features": [[1, 2]], "labels": [[1, 0]]}),
    ("TopKV2", {"input": [1, 2], "k": 1}),
    ("ConcatV2", {"values": [[1], [2]], "axis": 0}),
    ("Pack", {"values": [1, 2.5]}),
    ("AddN", {"inputs": [1, 2]}),
]


def types(tf, op, arguments):
    try:
        made = getattr(tf.raw_ops, op)(**arguments)
    except (TypeError, ValueError) as error:
        return type(error).__name__
    node = (made if hasattr(made, "op") else made[0]).op
    return [[each.dtype.name for each in part] for part in (node.inputs, node.outputs)]


def main():
    tf = module_named(sys.argv[1])
    json.dump([types(tf, op, arguments) for op, arguments in CALLS], sys.stdout)


if __name__ == "__main__":
    main()

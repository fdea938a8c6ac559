"""tensorflow.core.example.feature_pb2: what examples are made of."""

from millrace._values.examples import (
    BytesList,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
)

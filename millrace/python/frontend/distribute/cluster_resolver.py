"""tf.distribute.cluster_resolver: objects that tell which cluster a program is in."""

from millrace._cluster.managed_resolvers import (
    GCEClusterResolver,
    KubernetesClusterResolver,
    SlurmClusterResolver,
)
from millrace._cluster.resolvers import (
    ClusterResolver,
    SimpleClusterResolver,
    TFConfigClusterResolver,
    TPUClusterResolver,
    UnionResolver,
)

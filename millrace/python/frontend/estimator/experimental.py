"""tf.estimator.experimental: an end to trainings that learn no more, and canned models as functions."""

from millrace._canned.logit_functions import (
    call_logit_fn,
    dnn_logit_fn_builder,
    linear_logit_fn_builder,
)
from millrace._estimators.early_stopping import (
    make_early_stopping_hook,
    stop_if_higher_hook,
    stop_if_lower_hook,
    stop_if_no_decrease_hook,
    stop_if_no_increase_hook,
)

"""tf.random.experimental: generators whose state is a variable."""

from millrace._state.generators import (
    Generator,
    create_rng_state,
    get_global_generator,
    set_global_generator,
)

import pickle

import pytest

import millrace as tf
from millrace import errors

CODES = {
    "CancelledError": 1,
    "UnknownError": 2,
    "InvalidArgumentError": 3,
    "DeadlineExceededError": 4,
    "NotFoundError": 5,
    "AlreadyExistsError": 6,
    "PermissionDeniedError": 7,
    "ResourceExhaustedError": 8,
    "FailedPreconditionError": 9,
    "AbortedError": 10,
    "OutOfRangeError": 11,
    "UnimplementedError": 12,
    "InternalError": 13,
    "UnavailableError": 14,
    "DataLossError": 15,
    "UnauthenticatedError": 16,
}


@pytest.mark.parametrize("name, code", CODES.items())
def test_each_code_has_its_class(name, code):
    cls = getattr(tf.errors, name)
    error = cls(None, None, "why")
    assert isinstance(error, tf.errors.OpError) and isinstance(error, tf.OpError)
    assert (error.error_code, error.message, str(error)) == (code, "why", "why")
    assert errors.exception_type_from_error_code(code) is cls
    assert errors.error_code_from_exception_type(cls) == code
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls and copy.message == "why"


def test_an_error_names_the_operation_that_failed_and_where_it_was_made(session):
    x = tf.placeholder(tf.int32, name="x")
    y = tf.floordiv(1, x, name="ratio")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(y, {x: 0})
    assert caught.value.op is y.op
    assert caught.value.node_def.name == "ratio"
    assert __file__ in str(caught.value)


def test_a_local_session_is_asked_for_a_remote_device():
    with tf.device("/job:files/task:0"):
        c = tf.constant(1)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="explicitly assigned to"):
            session.run(c)

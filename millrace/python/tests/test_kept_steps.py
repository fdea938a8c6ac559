"""What a session keeps of runs whose fetches differ every time."""

import ctypes

import millrace as tf


class _MallInfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
        )
    ]


def _bytes_in_use():
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _MallInfo
    info = mallinfo2()
    return info.uordblks + info.hblkhd


def test_fetches_that_differ_every_time_do_not_pile_up():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        nodes = [x + float(i) for i in range(100)]
        warm = 0
        for step in range(8_000):
            if step == 4_000:
                warm = _bytes_in_use()
            a, b = nodes[step // 100], nodes[step % 100]
            assert session.run([a, b], {x: 1.0}) == [1.0 + step // 100, 1.0 + step % 100]
        # The session keeps up to 1,024 of them ready, and up to 2,000 planned: some 10 kB each.
        assert _bytes_in_use() - warm < 16_000_000

"""A worker's seat: one of its threads, as the broker sees it, and the call that it was lent."""

import dataclasses
import struct
import threading
import time

from millrace._tasks import errors as task_errors
from millrace._tasks.broker import fed_lists, fed_plain
from millrace._values import errors

_ATTEMPT = struct.Struct("<I")  # of a lease's bytes: millrace/ops/state/lease.h draws them
_ATTEMPT_AT = 4
_LOOK = 0.01  # seconds between two looks whether a settlement has arrived


@dataclasses.dataclass(eq=False)
class Loan:
    """A call that was lent to this worker.

    Attributes:
      lease: its bytes.
      text: the call.
      number: its id as its queue knows it; state, is_revoked: what was known of it when it was taken.
        Of the queue `waiting` alone.
      attempt: how often it was lent, this time included.
      is_lost: whether it is known to have gone to another worker.
    """

    lease: bytes
    text: bytes
    number: int = 0
    state: bytes = b""
    is_revoked: bool = False
    attempt: int = 1
    is_lost: bool = False


class Seat:
    """Takes calls that a queue lends, and settles them, one after the other.

    What became of a call is told in the step that takes the next one: it is done at once, however long
    that step waits then. Only one thread takes; any other one may stop the seat, and keep its lease.

    Args:
      broker: the Broker.
      lending: `Steps.calls` or `Steps.dues`.
      fed: what a step that takes is fed besides: who the worker is, for `Steps.calls`.
    """

    def __init__(self, broker, lending, *fed):
        self._broker = broker
        self._lending = lending
        self._fed = fed
        self._lock = threading.Lock()
        # All under the lock:
        self._connection = None
        self._loan = None  # what it has
        self._settling = None  # what is settled by the step that takes
        self._since = 0.0  # when that step began
        self._is_over = False
        self._made_before = 0

    def connect(self):
        """Connects with the broker. False if it is over."""
        made = self._broker.connect()
        with self._lock:
            if not self._is_over:
                self._connection = made
                return True
        made.close()
        return False

    def close(self):
        """Ends the connection: what is lent comes back to the queue."""
        with self._lock:
            connection, self._connection = self._connection, None
            self._loan = self._settling = None
            self._made_before += connection.made if connection is not None else 0
        if connection is not None:
            connection.close()

    @property
    def steps_made(self):
        """How many steps it has made."""
        with self._lock:
            return self._made_before + (self._connection.made if self._connection else 0)

    # ---- For the thread that works ---------------------------------------------------------------

    def take(self, loan=None, settlement=None):
        """Settles what was lent, if anything, and takes the next: a Loan; None if it is over.

        Raises:
          ValueError, errors.OpError: nothing was settled or acknowledged, or nobody knows.
        """
        with self._lock:
            is_over, connection = self._is_over, self._connection
            if not is_over and connection is not None:
                self._loan, self._settling, self._since = None, loan, time.monotonic()
        if is_over or connection is None:
            if loan is not None:
                self.settle(loan, settlement)
            return None
        try:
            lease = loan.lease if loan is not None else b""
            step, fed = self._settled(settlement, self._lending.take, self._lending.take_whole)
            taken = self._loan_of(connection.run(step, lease, *self._fed, *fed))
        finally:
            with self._lock:
                self._settling = None
        with self._lock:
            if not self._is_over:
                self._loan = taken
                return taken
        self.give_back(taken)
        return None

    def settle(self, loan, settlement):
        """Settles what was lent, and takes nothing."""
        with self._lock:
            connection = self._connection
        if connection is None:
            raise task_errors.BrokerLost("the seat is closed")
        step, fed = self._settled(settlement, self._lending.end, self._lending.end_whole)
        connection.run(step, loan.lease, *fed)
        with self._lock:
            self._loan = None

    def give_back(self, loan):
        """Gives a call to others, if it can be done; it comes back when its lease ends otherwise."""
        with self._lock:
            if self._loan is loan:
                self._loan = None
        try:
            self._broker.give_back(self._lending, loan.lease)
        except (errors.OpError, task_errors.BrokerLost):
            pass

    @staticmethod
    def _settled(settlement, plain, whole):
        """(the step of the two, what it is fed)."""
        if settlement is None:
            return plain, (0, b"", b"", 0)
        if settlement.fresh or settlement.waiting or settlement.later:
            return whole, (*fed_plain(settlement), *fed_lists(settlement))
        return plain, fed_plain(settlement)

    @staticmethod
    def _loan_of(fetched):
        lease, *rest = fetched
        (attempt,) = _ATTEMPT.unpack_from(lease, _ATTEMPT_AT)
        if len(rest) == 1:
            return Loan(lease, rest[0], attempt=attempt)
        number, text, state, revoked = rest
        return Loan(lease, text, int(number), state, bool(revoked), attempt)

    def end(self):
        """No more calls are taken."""
        with self._lock:
            self._is_over = True

    # ---- For others ------------------------------------------------------------------------------

    def stop(self):
        """No more calls are taken. What waits for one ends, but not what it settles."""
        self.end()
        with self._lock:
            is_idle, settling = self._loan is None, self._settling
        if not is_idle:
            return
        if settling is not None:
            self._wait_for_settling(settling)
        with self._lock:
            connection = self._connection if self._loan is None else None
        if connection is not None:
            connection.close()

    def _wait_for_settling(self, settling):
        end = time.monotonic() + self._broker.patience
        while self._settling is settling and time.monotonic() < end:
            try:
                if not self._broker.extend(self._lending, settling.lease):
                    return  # it has ended
            except (errors.OpError, task_errors.BrokerLost):
                return
            time.sleep(_LOOK)

    def held(self):
        """The Loan that it has; None if it has none."""
        with self._lock:
            return self._loan

    def keep(self):
        """Extends the lease of what it has, or of what it settles. To be called every now and then."""
        with self._lock:
            loan, since = self._loan or self._settling, self._since
        if loan is None:
            return
        try:
            is_held = self._broker.extend(self._lending, loan.lease)
        except (errors.OpError, task_errors.BrokerLost):
            return  # the next one may come through in time
        with self._lock:
            is_late = loan is self._settling and time.monotonic() - since > self._broker.patience
            connection = self._connection
            if not is_held and loan is self._loan:
                loan.is_lost = True
            elif not is_held and loan is self._settling:
                self._settling = None  # it is settled, and there is nothing to take
        if is_held and is_late and connection is not None:
            connection.close()  # what it settles has not arrived

# SPDX-License-Identifier: Apache-2.0
"""How long a held lease is certain, seen from this side alone."""
from __future__ import annotations

import random
import threading
from typing import Optional

from ._values import Span, boottime, seconds
from .errors import LeaseLost, lost

_MARGIN_SHARE, _MARGIN_MOST = 0.1, 2.0
_RENEW_SHARE = 1 / 3
_STALE_SHARE = 1 / 4


class Term:
    """The local deadline. The server counts the ttl from when it works on a request, which cannot be
    before the request was sent: sent + ttl is never later than the real end. The margin leaves time
    to act and covers clocks that run unevenly.

    A loss is final: once told, a late answer does not take it back. Thread-safe."""

    def __init__(self, name: str, ttl: float, margin: Optional[float], sent: float) -> None:
        if margin is None:
            margin = min(ttl * _MARGIN_SHARE, _MARGIN_MOST)
        self._name, self.ttl, self._margin = name, ttl, margin
        self._lock = threading.Lock()
        self._loss: Optional[LeaseLost] = None
        self._sent = self._due = self.deadline = 0.0
        self._pause = self._first_pause()
        self.last_error: Optional[BaseException] = None
        self.extend(sent)

    def _first_pause(self) -> float:
        return min(0.1, self.ttl / 20)

    def extend(self, sent: float) -> None:
        """A request sent at `sent` was answered with the lease."""
        with self._lock:
            self._sent = sent
            self.deadline = sent + self.ttl - self._margin
            self._due = sent + self.ttl * _RENEW_SHARE * random.uniform(0.9, 1.0)
            self._pause = self._first_pause()
            self.last_error = None

    def failed(self, error: BaseException) -> None:
        """A renewal had no answer that settles anything: try again, soon and ever less often."""
        with self._lock:
            self.last_error = error
            self._due = boottime() + self._pause * random.uniform(0.5, 1.0)
            self._pause = min(self._pause * 2, self.ttl / 10)

    def stale(self) -> bool:
        """Whether so much of the term went by before the answer came (the wait for the key counts)
        that it has to be renewed before work begins."""
        return boottime() > self._sent + self.ttl * _STALE_SHARE

    def left(self) -> float:
        """Seconds to the local deadline; 0 when it is over or lost."""
        return 0.0 if self._loss else max(self.deadline - boottime(), 0.0)

    def pause(self) -> float:
        """Seconds to the next thing to do: a renewal or the end."""
        return max(min(self._due, self.deadline) - boottime(), 0.0)

    def lose(self, error: LeaseLost) -> LeaseLost:
        with self._lock:
            self._loss = self._loss or error
            return self._loss

    def loss(self) -> Optional[LeaseLost]:
        """The loss, if the lease is lost or its local deadline has passed."""
        if not self._loss and boottime() >= self.deadline:
            error = lost(f"the lease of {self._name} could not be renewed in time")
            error.__cause__ = self.last_error
            return self.lose(error)
        return self._loss

    def renewal_timeout(self) -> float:
        """Patience of one attempt to renew: leaves room for others before the end."""
        return max(min(self.left(), self.ttl * _RENEW_SHARE), 0.001)


def check_margin(ttl: Span, margin: Optional[Span]) -> Optional[float]:
    """The margin in seconds; one that leaves no time for a renewal is a mistake."""
    if margin is None:
        return None
    if not 0 <= seconds(margin) <= seconds(ttl) / 2:
        raise ValueError("margin must be between 0 and half of the ttl")
    return seconds(margin)

# SPDX-License-Identifier: Apache-2.0
"""When to try again, and for how long. Pure: no call is made and no time is slept here."""
from __future__ import annotations

import random
import time
from typing import Optional

import grpc

from .errors import MinddError

# Patience of one attempt beyond the wait the caller asked for. Short enough to try another
# connection within the patience of the whole call.
ATTEMPT = 5.0
_FIRST, _LONGEST = 0.05, 1.0

# All calls may be repeated: Acquire carries a request id, Renew sets the same deadline again, a
# second Release is OK, Inspect and List only look.
_AGAIN = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED,
          grpc.StatusCode.CANCELLED}


class Attempts:
    """The attempts of one call. wait: what the caller is ready to wait for the key; timeout: what
    the call may take in all, by default the wait and `patience`. Seconds."""

    def __init__(self, patience: float, timeout: Optional[float], wait: float = 0.0) -> None:
        now = time.monotonic()
        self._wait_end = now + max(wait, 0.0)
        self._end = now + timeout if timeout is not None else self._wait_end + patience
        self._pause = _FIRST

    def wait_left(self) -> float:
        """What is left of the wait for this attempt."""
        return max(self._wait_end - time.monotonic(), 0.0)

    def timeout(self) -> float:
        """Deadline of the attempt that starts now: a little above its wait, so that the server's own
        answer comes first."""
        left = self._end - time.monotonic()
        return max(min(left, self.wait_left() + ATTEMPT), 0.001)

    def pause_after(self, error: MinddError) -> Optional[float]:
        """How long to pause before the next attempt; None: there is none."""
        if error.code() not in _AGAIN:
            return None
        pause = self._pause * random.uniform(0.5, 1.0)
        self._pause = min(self._pause * 2, _LONGEST)
        if error.retry_after is not None:
            pause = max(pause, error.retry_after.total_seconds())
        return pause if time.monotonic() + pause < self._end else None

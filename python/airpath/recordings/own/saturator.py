"""Keeps so many packets in flight that the link never idles and its buffer stays bounded.

The queueing delay is the one-way delay of the newest packet that arrived, minus the least one so far: clocks
need not agree. The window grows while the delay is below `LOW_S` and shrinks above `HIGH_S`. A buffer that
overflows before `LOW_S` is full: the window is held while losses are frequent, since the link is busy then.
The idea is Saturator's (Winstein, Sivaraman, Balakrishnan, NSDI 2013); the control is airpath's own.
"""

from __future__ import annotations

from dataclasses import dataclass

LOW_S, HIGH_S = 0.75, 3.0
FIRST_WINDOW = 32
MOST_WINDOW = 100_000
LOSSY = 0.1
"""Share of losses over a round trip from which on the window is held; above three times this it shrinks."""
STALLED_S = 1.0
"""After so long without news everything in flight counts as lost, and single packets look for the link."""
PROBE_EVERY_S = 0.05


@dataclass
class Saturator:
    """The window of a sender of data; times in seconds of its own clock.

    Parameters
    ----------
    window : float
        Packets that may be in flight.
    sent : int
        Packets sent so far: the number of the next.
    """

    window: float = FIRST_WINDOW
    sent: int = 0
    _seen: int = -1
    _received: int = 0
    _least_delay_s: float | None = None
    _is_starting: bool = True
    _news_s: float | None = None
    _probe_s: float = 0.0
    _round: tuple[int, int, int] = (0, 0, 0)
    """At the start of the round trip: packets sent, the next number to be seen, and packets received."""
    loss: float = 0.0
    delay_s: float = 0.0

    def may_send(self, now_s: float) -> bool:
        """Whether another packet may leave now."""
        if self._news_s is not None and now_s - self._news_s > STALLED_S:
            return now_s - self._probe_s >= PROBE_EVERY_S
        return self.sent - 1 - self._seen < self.window

    def on_sent(self, now_s: float) -> int:
        """Count a packet that leaves; returns its number."""
        self._news_s = now_s if self._news_s is None else self._news_s
        self._probe_s = now_s
        self.sent += 1
        return self.sent - 1

    def on_report(self, now_s: float, seen: int, received: int, delay_s: float) -> None:
        """Take a report: highest number seen, number received, one-way delay of the newest packet."""
        if seen <= self._seen:
            return
        arrived = received - self._received
        self._seen, self._received, self._news_s = seen, received, now_s
        self._least_delay_s = delay_s if self._least_delay_s is None else min(self._least_delay_s, delay_s)
        self.delay_s = delay_s - self._least_delay_s
        self._end_round()
        if self.delay_s < LOW_S and self.loss < LOSSY:
            # As in slow start while the link was never full; then by one per report.
            self.window = min(self.window + (arrived if self._is_starting else 1), MOST_WINDOW)
        else:
            self._is_starting = False

    def _end_round(self) -> None:
        """Once per round trip: measure the losses in it, and shrink the window of a full buffer."""
        sent, first, received = self._round
        if self._seen < sent:
            return
        self.loss = 1 - min(1.0, (self._received - received) / (self._seen + 1 - first))
        self._round = (self.sent, self._seen + 1, self._received)
        if self.delay_s > HIGH_S or self.loss > 3 * LOSSY:
            self.window = max(FIRST_WINDOW, self.window * 2 / 3)

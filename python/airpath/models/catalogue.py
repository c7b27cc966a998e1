"""All models by name, with a run's measurements as inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from airpath.models.chan import Form, chan_ramjee, lakshman_madhow
from airpath.models.inputs import Episodes, Link, Throughput, positive
from airpath.models.mathis import Losses, mathis
from airpath.models.misra import misra
from airpath.models.padhye import padhye, padhye_approximate

Predict = Callable[[Episodes, Link | None], Throughput]


@dataclass(frozen=True)
class Prediction:
    """Prediction of a model for a flow, or the reason why it does not apply."""

    model: Model
    throughput: Throughput | None
    reason: str | None = None


@dataclass(frozen=True)
class Model:
    """A throughput model: its name in `airpath predict --json`, and its title in tables.

    `predict` raises a `ValueError` with the reason if the model does not apply. Some need a `Link` in
    addition to the `Episodes`, or T0 even where no timeout happened; some hold where the window is limited.
    """

    name: str
    title: str
    predict: Predict
    needs_link: bool = False
    needs_timeout: bool = False
    knows_limit: bool = False

    def apply(self, episodes: Episodes, link: Link | None, no_link: str | None) -> Prediction:
        """Predict; `no_link` is the reason where there is no link."""
        if self.needs_link and link is None:
            return Prediction(self, None, no_link)
        if self.needs_timeout and episodes.timeout_s is None:
            return Prediction(self, None, "no timeout was seen, and the model needs its length")
        try:
            return Prediction(self, self.predict(episodes, link))
        except ValueError as error:
            # The part after the semicolon is for callers of the function.
            return Prediction(self, None, str(error).partition(";")[0])


def _mathis(losses: Losses, episodes: Episodes, _link: Link | None) -> Throughput:
    rtt_s = positive("rtt_s", episodes.rtt_s, "seconds")
    delayed = episodes.packets_per_ack > 1
    return mathis(episodes.loss_probability, rtt_s, delayed_acks=delayed, losses=losses)


def _padhye(form: Callable[..., Throughput], episodes: Episodes, _link: Link | None) -> Throughput:
    given = episodes.loss_probability, episodes.rtt_s, episodes.timeout_s
    return form(*given, packets_per_ack=episodes.packets_per_ack, window_limit=episodes.window_limit)


def _misra(as_printed: bool, episodes: Episodes, _link: Link | None) -> Throughput:
    rtt_s = positive("rtt_s", episodes.rtt_s, "seconds")
    rates = episodes.fast_retransmits_per_s, episodes.timeouts_per_s
    return misra(rtt_s, *rates, as_printed=as_printed)


def _sawtooth(_episodes: Episodes, link: Link | None) -> Throughput:
    return lakshman_madhow(_known(link))


def _chan(form: Form, episodes: Episodes, link: Link | None) -> Throughput:
    p1, p2, window = episodes.single_share, episodes.double_share, episodes.max_window
    if p1 is None or p2 is None or window is None:
        raise ValueError("there are no loss episodes; give a run with at least one")
    return chan_ramjee(_known(link), p1, p2, window, episodes.timeout_s, form=form)


def _known(link: Link | None) -> Link:
    if link is None:
        raise ValueError("the bottleneck is not known; give service rate, delay and buffer of one")
    return link


_WITH_TIMEOUTS = {"needs_timeout": True, "knows_limit": True}
MODELS: tuple[Model, ...] = (
    Model("mathis_periodic", "square root, periodic losses", partial(_mathis, "periodic")),
    Model("mathis_random", "square root, random losses", partial(_mathis, "random")),
    Model("padhye", "Padhye et al., full", partial(_padhye, padhye), **_WITH_TIMEOUTS),
    Model(
        "padhye_approximate",
        "Padhye et al., approximate",
        partial(_padhye, padhye_approximate),
        **_WITH_TIMEOUTS,
    ),
    Model("misra", "Misra et al.", partial(_misra, False)),
    Model("misra_as_printed", "Misra et al., as printed in Chan", partial(_misra, True)),
    Model("lakshman_madhow", "Lakshman and Madhow, saw-tooth", _sawtooth, needs_link=True),
    Model("chan_ramjee", "Chan and Ramjee, eq. 19, fitting", partial(_chan, "fitting"), needs_link=True),
    Model(
        "chan_ramjee_literal", "Chan and Ramjee, eq. 19, literal", partial(_chan, "literal"), needs_link=True
    ),
)

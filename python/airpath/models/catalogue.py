"""All models by name, with a run's measurements as inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from airpath.models.chan import Form, chan_ramjee
from airpath.models.inputs import Episodes, Link, Throughput, positive
from airpath.models.mathis import Losses, mathis
from airpath.models.misra import misra
from airpath.models.padhye import padhye, padhye_approximate
from airpath.models.sawtooth import lakshman_madhow


@dataclass(frozen=True)
class Model:
    """A throughput model.

    Attributes
    ----------
    name : str
        Name in `airpath predict --json`.
    title : str
        Name in tables.
    predict : callable
        Function of `Episodes` and `Link` (None if not known) to `Throughput`; raises a `ValueError` with
        the reason if the model does not apply.
    needs_link : bool
        Whether it needs a `Link` beside the `Episodes`.
    needs_timeout : bool
        Whether it needs T0 even where no timeout happened.
    knows_limit : bool
        Whether it holds where the window is limited.
    """

    name: str
    title: str
    predict: Callable[[Episodes, Link | None], Throughput]
    needs_link: bool = False
    needs_timeout: bool = False
    knows_limit: bool = False


def _mathis(losses: Losses) -> Callable[[Episodes, Link | None], Throughput]:
    def predict(episodes: Episodes, _link: Link | None) -> Throughput:
        rtt_s = positive("rtt_s", episodes.rtt_s, "seconds")
        delayed = episodes.packets_per_ack > 1
        return mathis(episodes.loss_probability, rtt_s, delayed_acks=delayed, losses=losses)

    return predict


def _padhye(form: Callable[..., Throughput]) -> Callable[[Episodes, Link | None], Throughput]:
    def predict(episodes: Episodes, _link: Link | None) -> Throughput:
        return form(
            episodes.loss_probability,
            episodes.rtt_s,
            episodes.timeout_s,
            packets_per_ack=episodes.packets_per_ack,
            window_limit=episodes.window_limit,
        )

    return predict


def _misra(as_printed: bool) -> Callable[[Episodes, Link | None], Throughput]:
    def predict(episodes: Episodes, _link: Link | None) -> Throughput:
        rtt_s = positive("rtt_s", episodes.rtt_s, "seconds")
        rates = episodes.fast_retransmits_per_s, episodes.timeouts_per_s
        return misra(rtt_s, *rates, as_printed=as_printed)

    return predict


def _sawtooth(_episodes: Episodes, link: Link | None) -> Throughput:
    return lakshman_madhow(_known(link))


def _chan(form: Form) -> Callable[[Episodes, Link | None], Throughput]:
    def predict(episodes: Episodes, link: Link | None) -> Throughput:
        shares = episodes.single_share, episodes.double_share
        if shares[0] is None or shares[1] is None or episodes.max_window is None:
            raise ValueError("there are no loss episodes; give a run with at least one")
        return chan_ramjee(
            _known(link), shares[0], shares[1], episodes.max_window, episodes.timeout_s, form=form
        )

    return predict


def _known(link: Link | None) -> Link:
    if link is None:
        raise ValueError("the bottleneck is not known; give service rate, delay and buffer of one")
    return link


MODELS: tuple[Model, ...] = (
    Model("mathis_periodic", "square root, periodic losses", _mathis("periodic")),
    Model("mathis_random", "square root, random losses", _mathis("random")),
    Model("padhye", "Padhye et al., full", _padhye(padhye), needs_timeout=True, knows_limit=True),
    Model(
        "padhye_approximate",
        "Padhye et al., approximate",
        _padhye(padhye_approximate),
        needs_timeout=True,
        knows_limit=True,
    ),
    Model("misra", "Misra et al.", _misra(as_printed=False)),
    Model("misra_as_printed", "Misra et al., as printed in Chan", _misra(as_printed=True)),
    Model("lakshman_madhow", "Lakshman and Madhow, saw-tooth", _sawtooth, needs_link=True),
    Model("chan_ramjee", "Chan and Ramjee, eq. 19, fitting", _chan("fitting"), needs_link=True),
    Model("chan_ramjee_literal", "Chan and Ramjee, eq. 19, literal", _chan("literal"), needs_link=True),
)

//! The limit on the throughput of a flow, in words: the largest share of its time.
//!
//! [`Shares`] divides the time; the verdict names the largest part. Two things make it another:
//!
//! * fewer than 20 segments, unless the sender waited for most of the time for the application, a full window or a
//!   timer: *too little data*;
//! * losses and timeouts are the largest part, and at least half of the cuts were spurious, a timeout among them:
//!   *spurious timeouts*.

use serde::Serialize;

use crate::flow::rounds::Shares;

const FEWEST_SEGMENTS: u64 = 20;
const HALF: f64 = 0.5;

/// Inputs of the rules; `None` if unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub segments: u64,
    pub shares: Option<Shares>,
    /// Goodput, bit/s.
    pub goodput_bps: Option<f64>,
    /// Rate of the bottleneck, bit/s: the 95th percentile of what it delivered.
    pub bottleneck_bps: Option<f64>,
    /// Shortest and median round trip, ms.
    pub rtt_ms: Option<(f64, f64)>,
    pub episodes: u64,
    /// Fast retransmits and timeouts.
    pub cuts: u64,
    /// Spurious reductions.
    pub spurious_cuts: u64,
    pub timeouts: u64,
    pub spurious_timeouts: u64,
    pub retransmissions: u64,
    pub zero_windows: u64,
    pub window_probes: u64,
    pub max_flight_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// `the application`, `receive window`, `the congestion window`, `slow start`, `loss episodes`, `timeouts`,
    /// `spurious timeouts`, `the link`, `unknown` or `too little data`.
    pub limited_by: &'static str,
    pub because: String,
    /// Shares of the time by the limit on the sender; `None` where data or ACKs were not captured.
    pub shares: Option<Shares>,
    /// The application's share, divided; `None` as `shares`.
    pub application: Option<Application>,
}

/// Parts of the application's share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Application {
    /// Times that the other end sent data, all was acknowledged, and this end answered.
    pub turns: u64,
    /// Share of the time from the last data of a turn to the first of the next: round trips, and the ends' time to think.
    pub between_turns: f64,
    /// Share of the time without a request of the other end, and at a pace slower than the window allows.
    pub in_pauses: f64,
}

pub fn verdict(figures: &Figures) -> Verdict {
    let (limited_by, because) = judge(figures);
    let application = figures.shares.map(|shares| Application {
        turns: shares.turns,
        between_turns: shares.between_turns,
        in_pauses: shares.application - shares.between_turns,
    });
    Verdict { limited_by, because, shares: figures.shares, application }
}

fn judge(figures: &Figures) -> (&'static str, String) {
    let few = || ("too little data", format!("{} with data", counted(figures.segments, "segment")));
    let Some(shares) = &figures.shares else {
        return if figures.segments < FEWEST_SEGMENTS {
            few()
        } else {
            ("unknown", "data or ACKs were not captured".to_owned())
        };
    };
    let mut parts = shares.parts();
    // Ties fall to the first.
    parts.sort_by(|one, other| other.1.total_cmp(&one.1));
    let (main, share) = parts[0];
    let is_evident = shares.waits.max(shares.receive_window).max(shares.timeouts) >= HALF;
    if figures.segments < FEWEST_SEGMENTS && !is_evident {
        return few();
    }
    let is_loss = matches!(main, "loss episodes" | "timeouts");
    if is_loss && figures.spurious_timeouts > 0 && 2 * figures.spurious_cuts >= figures.cuts {
        return ("spurious timeouts", spurious_text(figures));
    }
    (main, format!("{} for {:.0} % of the time{}", what(main), 100.0 * share, details(main, shares, figures)))
}

/// The state of the sender that a part counts.
fn what(part: &str) -> &'static str {
    match part {
        "the application" => "nothing to send",
        "receive window" => "the receiver's window was full",
        "the congestion window" => "the congestion window was full, without losses or a queue,",
        "slow start" => "the congestion window doubled in each round trip",
        "loss episodes" => "losses were being repaired, or had left a small window,",
        "timeouts" => "the sender waited for its retransmission timer",
        "the link" => "the bottleneck was in use, with a queue or at its full rate,",
        _ => "cannot be determined from this capture",
    }
}

fn details(part: &str, shares: &Shares, figures: &Figures) -> String {
    match part {
        "the application" => format!(
            ": {:.0} % in {} of request and response, {:.0} % in pauses",
            100.0 * shares.between_turns,
            counted(shares.turns, "turn"),
            100.0 * (shares.application - shares.between_turns)
        ),
        "receive window" => format!(
            "; {}, {}",
            counted(figures.zero_windows, "zero window"),
            counted(figures.window_probes, "probe")
        ),
        "slow start" | "unknown" => String::new(),
        "the congestion window" => {
            format!("; at most {} bytes in flight; {}", figures.max_flight_bytes, link_text(figures))
        }
        "timeouts" => format!("; {}; {}", counted(figures.timeouts, "timeout"), loss_text(figures)),
        "loss episodes" => format!("; {}; {}", loss_text(figures), link_text(figures)),
        _ => format!("; {}", link_text(figures)),
    }
}

fn loss_text(figures: &Figures) -> String {
    format!(
        "{}, {} in {}",
        counted(figures.episodes, "loss episode"),
        counted(figures.retransmissions, "retransmission"),
        counted(figures.segments, "segment")
    )
}

fn spurious_text(figures: &Figures) -> String {
    format!(
        "{} of {} reductions were spurious, {} of them timeouts; {}",
        figures.spurious_cuts,
        figures.cuts,
        figures.spurious_timeouts,
        link_text(figures)
    )
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn link_text(figures: &Figures) -> String {
    let mut text = match figures.goodput_bps.zip(figures.bottleneck_bps) {
        Some((goodput, rate)) => format!(
            "{:.0} kbit/s; the bottleneck delivered {:.0} kbit/s at the 95th percentile",
            goodput / 1e3,
            rate / 1e3
        ),
        _ => "the bottleneck's rate is not known".to_owned(),
    };
    if let Some((shortest, median)) = figures.rtt_ms {
        text += &format!("; RTT median {median:.0} ms, minimum {shortest:.0} ms");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Shares = Shares {
        application: 0.1,
        receive_window: 0.0,
        congestion_window: 0.2,
        slow_start: 0.0,
        loss: 0.2,
        timeouts: 0.0,
        link: 0.5,
        unknown: 0.0,
        between_turns: 0.08,
        turns: 3,
        waits: 0.1,
    };
    const GOOD: Figures = Figures {
        segments: 1000,
        shares: Some(LINK),
        goodput_bps: Some(500e3),
        bottleneck_bps: Some(1e6),
        rtt_ms: Some((100.0, 200.0)),
        episodes: 3,
        cuts: 3,
        spurious_cuts: 0,
        timeouts: 1,
        spurious_timeouts: 0,
        retransmissions: 4,
        zero_windows: 1,
        window_probes: 3,
        max_flight_bytes: 50_000,
    };

    #[test]
    fn largest_share_is_the_verdict() {
        let with = |shares: Shares| Figures { shares: Some(shares), ..GOOD };
        let application = Shares { application: 0.6, link: 0.0, ..LINK };
        let waits = Shares { application: 0.9, waits: 0.8, ..Shares::default() };
        let lossy = with(Shares { loss: 0.6, link: 0.1, ..LINK });
        let cases = [
            (GOOD, "the link"),
            (with(application), "the application"),
            (with(Shares { receive_window: 0.6, ..LINK }), "receive window"),
            (with(Shares { congestion_window: 0.6, ..LINK }), "the congestion window"),
            (with(Shares { slow_start: 0.6, ..LINK }), "slow start"),
            (with(Shares { timeouts: 0.6, ..LINK }), "timeouts"),
            (with(Shares { unknown: 0.6, ..LINK }), "unknown"),
            (lossy, "loss episodes"),
            (Figures { spurious_cuts: 2, spurious_timeouts: 1, ..lossy }, "spurious timeouts"),
            (Figures { spurious_cuts: 1, spurious_timeouts: 1, ..lossy }, "loss episodes"),
            (Figures { spurious_cuts: 3, spurious_timeouts: 1, ..GOOD }, "the link"),
            (Figures { segments: 19, ..GOOD }, "too little data"),
            // A few segments suffice to see that the sender waited for its application.
            (Figures { segments: 19, ..with(waits) }, "the application"),
            (Figures { segments: 19, ..with(application) }, "too little data"),
            (Figures { shares: None, ..GOOD }, "unknown"),
        ];
        for (figures, expected) in cases {
            assert_eq!(verdict(&figures).limited_by, expected, "{figures:?}");
        }
    }

    #[test]
    fn reason_names_the_figures() {
        let because = |shares| verdict(&Figures { shares: Some(shares), ..GOOD }).because;
        assert_eq!(
            because(LINK),
            "the bottleneck was in use, with a queue or at its full rate, for 50 % of the time; 500 kbit/s; the \
             bottleneck delivered 1000 kbit/s at the 95th percentile; RTT median 200 ms, minimum 100 ms"
        );
        assert_eq!(
            because(Shares { application: 0.6, between_turns: 0.5, turns: 61, ..Shares::default() }),
            "nothing to send for 60 % of the time: 50 % in 61 turns of request and response, 10 % in pauses"
        );
        assert_eq!(
            because(Shares { receive_window: 0.9, ..Shares::default() }),
            "the receiver's window was full for 90 % of the time; 1 zero window, 3 probes"
        );
    }
}

//! What limited the throughput of a flow, in words, by rules over its figures.
//!
//! The first rule that holds speaks:
//!
//! 1. fewer than 20 segments: *too little data*;
//! 2. nothing in flight for half of the time: *the application*;
//! 3. the receiver's window held no further segment for half of the time: *receive window*, unless it fills the link:
//!    rule 4 holds, and half of the round trips are twice as long as the shortest;
//! 4. goodput of at least 0.85 of the bottleneck's rate, and a queue in front of it (half of the round trips are longer
//!    than the shortest by a quarter) or losses: *the link*;
//! 5. at least half of the loss episodes' cuts were spurious, a timeout among them: *spurious timeouts*;
//! 6. losses: *loss episodes*;
//! 7. nothing in flight for a fifth of the time: *the application*;
//! 8. goodput of at least 0.85 of the bottleneck's rate: *the link*;
//! 9. *the congestion window*: nothing was lost and nothing was full.

use serde::Serialize;

const FEWEST_SEGMENTS: u64 = 20;
const HALF: f64 = 0.5;
const FULL: f64 = 0.85;
const QUEUED: f64 = 1.25;
/// A window that stands in a queue for as long as the empty path takes fills the link.
const DEEP: f64 = 2.0;
const SOME_IDLE: f64 = 0.2;

/// What the rules look at; `None` is not known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub segments: u64,
    /// Share of time without anything in flight.
    pub idle_share: Option<f64>,
    /// Share of time with a full receiver's window.
    pub window_limited_share: Option<f64>,
    /// Goodput, bit/s.
    pub goodput_bps: Option<f64>,
    /// Rate of the bottleneck, bit/s.
    pub bottleneck_bps: Option<f64>,
    /// Shortest and median round trip, ms.
    pub rtt_ms: Option<(f64, f64)>,
    pub episodes: u64,
    /// Fast retransmits and timeouts.
    pub cuts: u64,
    /// Those that were spurious.
    pub spurious_cuts: u64,
    pub spurious_timeouts: u64,
    pub retransmissions: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// `receive window`, `loss episodes`, `spurious timeouts`, `the link`, `the application`,
    /// `the congestion window` or `too little data`.
    pub limited_by: &'static str,
    pub because: String,
}

pub fn verdict(figures: &Figures) -> Verdict {
    let (limited_by, because) = judge(figures);
    Verdict { limited_by, because }
}

fn judge(figures: &Figures) -> (&'static str, String) {
    if figures.segments < FEWEST_SEGMENTS {
        return ("too little data", format!("{} segments with data", figures.segments));
    }
    let idle = figures.idle_share.unwrap_or(0.0);
    if idle >= HALF {
        return ("the application", idle_text(idle));
    }
    let use_of_link = figures.goodput_bps.zip(figures.bottleneck_bps).map(|(goodput, rate)| goodput / rate);
    let is_full = use_of_link.is_some_and(|share| share >= FULL);
    let is_queued = figures.rtt_ms.is_some_and(|(shortest, median)| median >= QUEUED * shortest);
    let window = figures.window_limited_share.unwrap_or(0.0);
    let is_deep = figures.rtt_ms.is_some_and(|(shortest, median)| median >= DEEP * shortest);
    if window >= HALF && !(is_full && is_deep) {
        let because = format!("the receiver's window was full for {:.0} % of the time", 100.0 * window);
        return ("receive window", because);
    }
    if is_full && (is_queued || figures.episodes > 0) {
        return ("the link", link_text(figures, use_of_link));
    }
    if figures.spurious_timeouts > 0 && 2 * figures.spurious_cuts >= figures.cuts {
        let because = format!(
            "{} of {} reductions were needless, {} of them timeouts; {}",
            figures.spurious_cuts,
            figures.cuts,
            figures.spurious_timeouts,
            link_text(figures, use_of_link)
        );
        return ("spurious timeouts", because);
    }
    if figures.episodes > 0 {
        let because = format!(
            "{} loss episodes, {} retransmissions in {} segments; {}",
            figures.episodes,
            figures.retransmissions,
            figures.segments,
            link_text(figures, use_of_link)
        );
        return ("loss episodes", because);
    }
    if idle >= SOME_IDLE {
        return ("the application", idle_text(idle));
    }
    if is_full {
        return ("the link", link_text(figures, use_of_link));
    }
    ("the congestion window", format!("no losses; {}", link_text(figures, use_of_link)))
}

fn idle_text(idle: f64) -> String {
    format!("nothing was in flight for {:.0} % of the time", 100.0 * idle)
}

fn link_text(figures: &Figures, use_of_link: Option<f64>) -> String {
    let mut text = match (figures.goodput_bps, figures.bottleneck_bps, use_of_link) {
        (Some(goodput), Some(rate), Some(share)) => format!(
            "{:.0} kbit/s are {:.0} % of the bottleneck's {:.0} kbit/s",
            goodput / 1e3,
            100.0 * share,
            rate / 1e3
        ),
        _ => "the bottleneck's rate is not known".to_owned(),
    };
    if let Some((shortest, median)) = figures.rtt_ms {
        text += &format!("; round trips {median:.0} ms, the shortest {shortest:.0} ms");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Figures = Figures {
        segments: 1000,
        idle_share: Some(0.0),
        window_limited_share: Some(0.0),
        goodput_bps: Some(900e3),
        bottleneck_bps: Some(1e6),
        rtt_ms: Some((100.0, 200.0)),
        episodes: 0,
        cuts: 0,
        spurious_cuts: 0,
        spurious_timeouts: 0,
        retransmissions: 0,
    };

    #[test]
    fn each_rule_speaks_in_its_turn() {
        let slow = Figures { goodput_bps: Some(300e3), ..GOOD };
        let lossy = Figures { episodes: 9, cuts: 10, retransmissions: 12, ..slow };
        let cases = [
            (Figures { segments: 19, ..GOOD }, "too little data"),
            (Figures { idle_share: Some(0.5), ..GOOD }, "the application"),
            (Figures { window_limited_share: Some(0.5), ..slow }, "receive window"),
            (
                Figures { window_limited_share: Some(0.9), rtt_ms: Some((100.0, 110.0)), ..GOOD },
                "receive window",
            ),
            (Figures { window_limited_share: Some(0.9), ..GOOD }, "the link"),
            (Figures { episodes: 3, rtt_ms: None, ..GOOD }, "the link"),
            (Figures { spurious_cuts: 5, spurious_timeouts: 1, ..lossy }, "spurious timeouts"),
            (Figures { spurious_cuts: 4, spurious_timeouts: 4, ..lossy }, "loss episodes"),
            (Figures { idle_share: Some(0.3), ..slow }, "the application"),
            (Figures { rtt_ms: Some((100.0, 101.0)), ..GOOD }, "the link"),
            (slow, "the congestion window"),
            (Figures { bottleneck_bps: None, ..GOOD }, "the congestion window"),
        ];
        for (figures, expected) in cases {
            assert_eq!(verdict(&figures).limited_by, expected, "{figures:?}");
        }
    }

    #[test]
    fn the_figures_are_named() {
        let said =
            verdict(&Figures { episodes: 3, cuts: 3, retransmissions: 4, goodput_bps: Some(5e5), ..GOOD });
        let expected = "3 loss episodes, 4 retransmissions in 1000 segments; 500 kbit/s are 50 % of the bottleneck's \
                        1000 kbit/s; round trips 200 ms, the shortest 100 ms";
        assert_eq!(said.because, expected);
    }
}

//! Parameters of RLC AM (TS 25.322 §9.6).

use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rlc::{Errors, entities};
use crate::time::Duration;
use crate::units::Bytes;

/// Octets of the header of an AMD PDU, without length indicators (§9.2.1.4).
const HEADER_OCTETS: u64 = 2;
/// The largest PDU with length indicators of 7 bits, in octets (§9.2.2.8).
const LARGEST_WITH_SHORT_LI: u64 = 126;
/// Sequence numbers have 12 bits; a window of more than half of them would be ambiguous.
const LARGEST_WINDOW: u32 = 2048;
pub(super) const SEQUENCE_NUMBERS: u64 = 4096;

parameters! {
    /// Acknowledged Mode, one direction. The defaults are those of \[alcaraz2006\] Table 1.
    pub struct Config {
        /// Length of a TTI.
        pub tti: Duration = Duration::from_millis(10),
        /// Start of the first TTI; the others follow without gap.
        pub offset: Duration,
        /// Correlation of losses within a TTI.
        pub errors: Errors = Errors::PerTti,
        /// Size of a PDU with its header.
        pub pdu: Bytes = Bytes::from_bytes(42),
        /// Configured_Tx_Window_Size, in PDUs.
        pub configured_tx_window_size: u32 = 1024,
        /// Configured_Rx_Window_Size, in PDUs.
        pub configured_rx_window_size: u32 = 1024,
        /// Poll on the PDU that empties the transmission buffer, or is the last one that the window allows.
        pub last_pdu_poll: bool = true,
        /// Poll on the PDU that empties the retransmission buffer, or is the last one of it that the window allows.
        pub last_retransmission_poll: bool = true,
        /// Poll when no answer came in this time. If absent, no timer polls.
        pub timer_poll: Option<Duration> = Some(Duration::from_millis(60)),
        /// No second poll within this time.
        pub timer_poll_prohibit: Option<Duration>,
        /// Poll once in this time, if anything waits or is unacknowledged.
        pub timer_poll_periodic: Option<Duration>,
        /// Poll on every n-th PDU.
        pub poll_pdu: Option<u32>,
        /// Poll on the last PDU of every n-th SDU.
        pub poll_sdu: Option<u32>,
        /// Poll on each PDU while this much of the window is in use, in percent.
        pub poll_window: Option<u32> = Some(50),
        /// No second status report within this time.
        pub timer_status_prohibit: Option<Duration> = Some(Duration::from_millis(60)),
        /// A status report once in this time.
        pub timer_status_periodic: Option<Duration>,
        /// A status report as soon as a PDU is found missing.
        pub missing_pdu_indicator: bool = true,
        /// Order in which SDUs are handed up.
        pub delivery: Delivery = Delivery::InSequence,
        /// What happens to SDUs that take too long.
        pub sdu_discard: SduDiscard = SduDiscard::NoDiscard,
        /// MaxDAT: a PDU scheduled so often is not sent, but has the action of `sdu_discard` begin; so it is sent once
        /// less at most. Absent: PDUs are sent as often as it takes.
        pub max_dat: Option<u32>,
        /// Timer_Discard: time from an SDU's arrival to its discard, for `sdu_discard = "timer"`.
        pub timer_discard: Option<Duration>,
        /// MaxRST: a RESET is sent once less at most; then the error is unrecoverable and the bearer silent.
        // Values of TS 34.123-1's default bearers.
        pub max_rst: u32 = 4,
        /// Timer_RST: an unanswered RESET is retransmitted after this time.
        pub timer_rst: Duration = Duration::from_millis(500),
        /// MaxMRW: an MRW is sent so often at most; then the link is reset.
        // ASSUMED: values within the ranges of TS 25.331 §10.3.4.25.
        pub max_mrw: u32 = 4,
        /// Timer_MRW: an unanswered MRW is retransmitted after this time.
        pub timer_mrw: Duration = Duration::from_millis(200),
        /// An MRW names the end of each discarded SDU, not only of the last one.
        pub send_mrw: bool,
        /// A STATUS PDU of the other direction goes into the padding of a data PDU of this one, if it fits there.
        pub piggybacked_status: bool,
        /// The header of a PDU that an SDU fills to the last octet marks its end.
        pub special_he: bool,
    }

    /// What happens to SDUs that take too long (§9.7.3).
    pub enum SduDiscard {
        /// The link is reset when a PDU reaches `max_dat`.
        #[default]
        NoDiscard,
        /// SDUs are discarded when one of their PDUs reaches `max_dat`, and the receiver is notified.
        MaxDat,
        /// SDUs are discarded after `timer_discard`, and the receiver is notified if an octet was sent.
        Timer,
    }

    /// Order in which SDUs are handed up.
    pub enum Delivery {
        /// A complete SDU waits for those sent before it.
        #[default]
        InSequence,
        /// A complete SDU is handed up at once.
        OutOfSequence,
    }
}

impl Config {
    /// Returns the parameters with this delay added to the timers that start with a PDU, as seen from the start of its
    /// TTI.
    pub(super) fn with_timers_after(&self, delay: Duration) -> Self {
        let later = |timer: Option<Duration>| timer.map(|timer| timer + delay);
        Self {
            timer_poll: later(self.timer_poll),
            timer_poll_prohibit: later(self.timer_poll_prohibit),
            timer_status_prohibit: later(self.timer_status_prohibit),
            timer_rst: self.timer_rst + delay,
            timer_mrw: self.timer_mrw + delay,
            ..self.clone()
        }
    }

    /// What entities with these parameters could not work with.
    pub fn check(&self) -> Result<(), ScenarioError> {
        entities::check_pdu(self.pdu)?;
        self.check_windows()?;
        self.check_counts()?;
        self.check_timers()?;
        self.check_discard()?;
        self.check_that_the_window_opens()
    }

    fn check_windows(&self) -> Result<(), ScenarioError> {
        let windows = [
            ("configured_tx_window_size", self.configured_tx_window_size),
            ("configured_rx_window_size", self.configured_rx_window_size),
        ];
        for (key, window) in windows {
            if window == 0 || window > LARGEST_WINDOW {
                let hint = format!("write 1 to {LARGEST_WINDOW} PDUs");
                return Err(ScenarioError::new(key, "is no window for sequence numbers of 12 bits", hint));
            }
        }
        if self.configured_rx_window_size < self.configured_tx_window_size {
            let hint = "write at least configured_tx_window_size";
            return Err(ScenarioError::new(
                "configured_rx_window_size",
                "drops what the sender may send",
                hint,
            ));
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), ScenarioError> {
        if self.poll_window.is_some_and(|percent| !(1..=100).contains(&percent)) {
            return Err(ScenarioError::new("poll_window", "is no share of the window", "write 1 to 100"));
        }
        for (key, count) in [("poll_pdu", self.poll_pdu), ("poll_sdu", self.poll_sdu)] {
            if count == Some(0) {
                return Err(ScenarioError::new(key, "is zero", "write 1 or more, or leave it out"));
            }
        }
        for (key, count) in [("max_rst", self.max_rst), ("max_mrw", self.max_mrw)] {
            if count == 0 {
                return Err(ScenarioError::new(key, "is zero", "write 1 or more"));
            }
        }
        if self.max_dat.is_some_and(|max| max < 2) {
            let hint = "write 2 or more, or leave it out";
            return Err(ScenarioError::new("max_dat", "lets no PDU be sent even once", hint));
        }
        Ok(())
    }

    fn check_timers(&self) -> Result<(), ScenarioError> {
        let timers = [
            ("timer_poll", self.timer_poll),
            ("timer_poll_prohibit", self.timer_poll_prohibit),
            ("timer_poll_periodic", self.timer_poll_periodic),
            ("timer_status_prohibit", self.timer_status_prohibit),
            ("timer_status_periodic", self.timer_status_periodic),
            ("timer_discard", self.timer_discard),
        ];
        for (key, timer) in timers {
            entities::check_timer(key, timer)?;
        }
        for (key, timer) in [("timer_rst", self.timer_rst), ("timer_mrw", self.timer_mrw)] {
            if timer.is_zero() {
                return Err(ScenarioError::new(key, "is zero", "write a time"));
            }
        }
        Ok(())
    }

    fn check_discard(&self) -> Result<(), ScenarioError> {
        let (mode, timer, max) = (self.sdu_discard, self.timer_discard, self.max_dat);
        let (key, wrong, hint) = match mode {
            SduDiscard::Timer if timer.is_none() => {
                ("timer_discard", "is absent", "set it, or another sdu_discard")
            }
            SduDiscard::Timer if max.is_some() => {
                ("max_dat", "is not used with sdu_discard = \"timer\"", "leave it out")
            }
            SduDiscard::MaxDat if max.is_none() => ("max_dat", "is absent", "set it, or another sdu_discard"),
            SduDiscard::NoDiscard | SduDiscard::MaxDat if timer.is_some() => {
                ("timer_discard", "is used with sdu_discard = \"timer\" only", "leave it out")
            }
            _ => return Ok(()),
        };
        Err(ScenarioError::new(key, wrong, hint))
    }

    /// A full window must not stall without a loss: a report must be requested, or sent, before or with the last PDU of
    /// the window.
    fn check_that_the_window_opens(&self) -> Result<(), ScenarioError> {
        let asked = self.last_pdu_poll
            || self.poll_window.is_some()
            || self.poll_pdu.is_some_and(|pdus| pdus <= self.configured_tx_window_size)
            || self.timer_poll_periodic.is_some()
            || self.timer_status_periodic.is_some();
        if asked {
            return Ok(());
        }
        Err(ScenarioError::new(
            "poll_window",
            "is absent, and nothing else asks for a report before the window is full, so that the link stalls",
            "set last_pdu_poll, poll_window, poll_pdu up to configured_tx_window_size, timer_poll_periodic or \
             timer_status_periodic",
        ))
    }

    /// Timer_Discard, if it is used.
    pub(super) fn expiry(&self) -> Option<Duration> {
        self.timer_discard.filter(|_| self.sdu_discard == SduDiscard::Timer)
    }

    /// Number of SN_MRW fields that fit into a STATUS PDU in addition to its ACK (§9.2.2.11.8).
    pub fn mrw_fields(&self) -> u64 {
        const TYPE_AND_LENGTHS: u64 = 12;
        const SN_MRW: u64 = 12;
        (self.status_bits() - TYPE_AND_LENGTHS) / SN_MRW
    }

    /// Octets of a PDU behind its header: data and length indicators.
    pub(super) fn payload(&self) -> u64 {
        self.pdu.as_u64().saturating_sub(HEADER_OCTETS) // Asked of what `check_pdu` refuses, too.
    }

    /// Octets of a length indicator with its E bit: 7 bits, or 15 in larger PDUs.
    pub(super) fn li_octets(&self) -> u64 {
        entities::li_octets(self.pdu, LARGEST_WITH_SHORT_LI)
    }

    /// Bits of a STATUS PDU between its first four and its ACK super-field.
    pub(super) fn status_bits(&self) -> u64 {
        const TYPE_BITS: u64 = 4;
        const ACK_BITS: u64 = 16;
        self.pdu.as_u64() * 8 - TYPE_BITS - ACK_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlc::Component as _;

    fn error(config: &Config) -> String {
        config.check().map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn what_cannot_work_is_named_with_a_remedy() {
        assert_eq!(error(&Config::default()), "");
        let window = Config { configured_tx_window_size: 2049, ..Config::default() };
        assert_eq!(
            error(&window),
            "configured_tx_window_size: is no window for sequence numbers of 12 bits; write 1 to 2048 PDUs"
        );
        let narrow = Config { configured_rx_window_size: 512, ..Config::default() };
        assert_eq!(
            error(&narrow),
            "configured_rx_window_size: drops what the sender may send; write at least configured_tx_window_size"
        );
        for percent in [0, 101] {
            let config = Config { poll_window: Some(percent), ..Config::default() };
            assert_eq!(error(&config), "poll_window: is no share of the window; write 1 to 100");
        }
        let timer = Config { timer_poll_prohibit: Some(Duration::ZERO), ..Config::default() };
        assert_eq!(error(&timer), "timer_poll_prohibit: is zero; write a time, or leave it out");
        let count = Config { poll_sdu: Some(0), ..Config::default() };
        assert_eq!(error(&count), "poll_sdu: is zero; write 1 or more, or leave it out");
        let pdu = Config { pdu: Bytes::from_bytes(9), ..Config::default() };
        assert_eq!(error(&pdu), "pdu: is no size of a PDU; write 10 to 4096 bytes");
    }

    #[test]
    fn what_contradicts_itself_is_named_with_a_remedy() {
        let check = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            error(&config)
        };
        let second = Duration::from_secs(1);
        assert_eq!(
            check(|c| c.max_dat = Some(1)),
            "max_dat: lets no PDU be sent even once; write 2 or more, or leave it out"
        );
        assert_eq!(check(|c| c.max_dat = Some(2)), "");
        assert_eq!(check(|c| c.max_rst = 0), "max_rst: is zero; write 1 or more");
        assert_eq!(check(|c| (c.max_rst, c.max_mrw) = (1, 1)), "");
        assert_eq!(check(|c| c.max_mrw = 0), "max_mrw: is zero; write 1 or more");
        assert_eq!(check(|c| c.timer_rst = Duration::ZERO), "timer_rst: is zero; write a time");
        assert_eq!(check(|c| c.timer_mrw = Duration::ZERO), "timer_mrw: is zero; write a time");
        assert_eq!(
            check(|c| c.sdu_discard = SduDiscard::Timer),
            "timer_discard: is absent; set it, or another sdu_discard"
        );
        assert_eq!(
            check(|c| c.sdu_discard = SduDiscard::MaxDat),
            "max_dat: is absent; set it, or another sdu_discard"
        );
        let mut timer =
            Config { sdu_discard: SduDiscard::Timer, timer_discard: Some(second), ..Config::default() };
        assert_eq!(error(&timer), "");
        timer.max_dat = Some(10);
        assert_eq!(error(&timer), "max_dat: is not used with sdu_discard = \"timer\"; leave it out");
        for sdu_discard in [SduDiscard::NoDiscard, SduDiscard::MaxDat] {
            timer.sdu_discard = sdu_discard;
            let words = "timer_discard: is used with sdu_discard = \"timer\" only; leave it out";
            assert_eq!(error(&timer), words);
        }
    }

    /// Each of these parameters suffices to open a full window. Without any, the last PDU of the window does not poll.
    #[test]
    fn a_window_that_would_stay_shut_is_refused() {
        let second = Some(Duration::from_secs(1));
        let silent =
            Config { last_pdu_poll: false, poll_window: None, poll_sdu: Some(1), ..Config::default() };
        assert!(error(&silent).starts_with("poll_window: is absent, and nothing else asks"));
        let opens = [
            Config { last_pdu_poll: true, ..silent.clone() },
            Config { poll_window: Some(100), ..silent.clone() },
            Config { poll_pdu: Some(1024), ..silent.clone() },
            Config { timer_poll_periodic: second, ..silent.clone() },
            Config { timer_status_periodic: second, ..silent.clone() },
        ];
        assert!(opens.iter().all(|config| error(config).is_empty()));
        let late = Config { poll_pdu: Some(1025), ..silent };
        assert!(error(&late).starts_with("poll_window: is absent"));
    }

    #[test]
    fn where_pdus_are_lost_something_repeats_the_question() {
        let second = Some(Duration::from_secs(1));
        let once = Config { timer_poll: None, ..Config::default() };
        let refused = once.check_with_losses().unwrap_err().to_string();
        assert_eq!(
            refused,
            "timer_poll: is absent, so that a lost poll or status report stalls the link for ever; \
             set timer_poll, timer_poll_periodic or timer_status_periodic"
        );
        let repeats = [
            Config::default(),
            Config { timer_poll_periodic: second, ..once.clone() },
            Config { timer_status_periodic: second, ..once },
        ];
        assert!(repeats.iter().all(|config| config.check_with_losses().is_ok()));
    }

    /// §9.2.2.8: 126 octets are the last with 7 bits.
    #[test]
    fn large_pdus_have_long_length_indicators() {
        let of = |pdu| Config { pdu: Bytes::from_bytes(pdu), ..Config::default() }.li_octets();
        assert_eq!((of(42), of(126), of(127)), (1, 1, 2));
    }
}

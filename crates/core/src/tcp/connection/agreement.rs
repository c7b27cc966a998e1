//! Negotiation: the options that both SYNs offer. RFC 9293 (3.7.1), RFC 7323 (1.3), RFC 2018 (2), RFC 3168 (6.1.1), RFC
//! 9768 (3.1).
//!
//! An option that the other endpoint does not offer is not used: without timestamps there is no Eifel detection,
//! without SACK no DSACK detection, and NewReno replaces every recovery that reads the scoreboard.

use crate::packet::{IpVersion, Packet};
use crate::tcp::{Config, Handshake, ecn, undo};
use crate::units::Bytes;

/// RFC 9293 (3.7.1): the MSS of a SYN without the option.
const DEFAULT_MSS: [u16; 2] = [536, 1220];
/// A smaller MSS is taken for this one, as in Linux: segments would be headers.
const LEAST_MSS: u64 = 48;

/// Values of the other endpoint's SYN needed after the negotiation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    /// Its sequence number.
    pub irs: u32,
    /// Its window field, which is never scaled: RFC 7323 (2.2).
    pub window: u64,
    /// The shift of its later windows.
    pub shift: u8,
    /// Its timestamp.
    pub ts_val: u32,
    /// Negotiated use of ECN.
    pub ecn: ecn::Agreement,
}

/// Configuration that both ends use, given this end's offer `ours` (sent or about to be) and the other endpoint's SYN
/// or SYN-ACK.
pub(super) fn agree(ours: &Config, syn: &Packet) -> (Config, Peer) {
    let options = syn.options();
    let timestamps = ours.timestamps && syn.has_timestamps;
    let sack = ours.sack && options.sack_permitted;
    let window_scaling = ours.window_scaling && options.window_scale_plus_1 > 0;
    let shift = if window_scaling { options.window_scale_plus_1 - 1 } else { 0 };
    let ecn = ecn::Agreement::of_syn(ours.ecn, syn);
    let window = u64::from(syn.window);
    let mut agreed = Config {
        handshake: Handshake::None,
        mss: Bytes::from_bytes(mss(ours, syn)),
        timestamps,
        sack,
        window_scaling,
        ecn: ecn.ecn,
        ..ours.clone()
    };
    if !sack {
        agreed.recovery = agreed.recovery.without_sack();
    }
    let blind = match &agreed.undo {
        undo::Config::Eifel(_) => !timestamps,
        undo::Config::Dsack(_) => !sack,
        _ => false,
    };
    if blind {
        agreed.undo = undo::Config::None(Default::default());
        agreed.adaptive_dupack_threshold = false;
    }
    (agreed, Peer { irs: syn.seq, window, shift, ts_val: syn.ts_val, ecn })
}

/// The MSS to be sent: RFC 9293 (3.7.1), MUST-16. A peer with a window of few octets gets segments of at most half of
/// it, as in Linux: otherwise a segment would never fit, and each would wait for the override timer.
fn mss(ours: &Config, syn: &Packet) -> u64 {
    let offered = match syn.options().mss {
        0 => DEFAULT_MSS[usize::from(ours.ip == IpVersion::Ipv6)],
        mss => mss,
    };
    let fits = match u64::from(syn.window) {
        // It opens later, by an unknown amount.
        0 => u64::MAX,
        window if window > u64::from(DEFAULT_MSS[0]) => window / 2,
        window => window,
    };
    ours.mss.as_u64().min(u64::from(offered).min(fits).max(LEAST_MSS))
}

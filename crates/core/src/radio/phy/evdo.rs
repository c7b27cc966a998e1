//! The rates of the forward link of 1xEV-DO (HDR) and the signal-to-noise ratios that they require.
//!
//! A physical-layer packet of each rate has a fixed number of bits and of slots of 2048 chips at 1.2288
//! Mchip/s. The ratios are for 1 % packet loss on a channel without fading. Source: Bender et al., "CDMA/HDR:
//! a bandwidth-efficient high-speed wireless data service for nomadic users", IEEE Communications Magazine
//! 38(7), 2000, Tables 1 and 2. Left out: the second, long formats of 3GPP2 C.S0024 (IS-856), its
//! interleaving of up to four packets, and early termination of a packet.

use crate::units::Decibel;

/// Slots of 5/3 ms in a second.
pub(in crate::radio) const PER_SECOND: u64 = 600;

/// A physical-layer packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhysicalPacket {
    /// bit/s while it lasts.
    pub rate_bps: u32,
    /// Room for IP packets in it: bytes, or thirds of a byte in a plain slot.
    pub room: u32,
    /// How long it lasts.
    pub slots: u64,
    /// The rate in words.
    pub name: &'static str,
}

/// Number of rates.
pub const RATES: usize = 11;

const fn packet(rate_bps: u32, bits: u32, slots: u64, name: &'static str) -> PhysicalPacket {
    PhysicalPacket { rate_bps, room: bits / 8, slots, name }
}

/// The rates, lowest first.
pub const PHYSICAL_PACKETS: [PhysicalPacket; RATES] = [
    packet(38_400, 1024, 16, "38.4 kbit/s"),
    packet(76_800, 1024, 8, "76.8 kbit/s"),
    packet(102_400, 1024, 6, "102.4 kbit/s"),
    packet(153_600, 1024, 4, "153.6 kbit/s"),
    packet(204_800, 1024, 3, "204.8 kbit/s"),
    packet(307_200, 1024, 2, "307.2 kbit/s"),
    packet(614_400, 1024, 1, "614.4 kbit/s"),
    packet(921_600, 3072, 2, "921.6 kbit/s"),
    packet(1_228_800, 2048, 1, "1228.8 kbit/s"),
    packet(1_843_200, 3072, 1, "1843.2 kbit/s"),
    packet(2_457_600, 4096, 1, "2457.6 kbit/s"),
];

/// Units per byte for the room of a plain slot, chosen so that the room at each rate is a whole number.
pub const PLAIN_PARTS: u32 = 3;

/// The rates with slots that each hold the rate times their time, and no packet of several slots.
pub const PLAIN_SLOTS: [PhysicalPacket; RATES] = {
    let mut plain = PHYSICAL_PACKETS;
    let mut rate = 0;
    while rate < RATES {
        plain[rate].slots = 1;
        plain[rate].room = plain[rate].rate_bps / 8 * PLAIN_PARTS / PER_SECOND as u32;
        rate += 1;
    }
    plain
};

/// Minimum signal-to-noise ratio for which each rate is requested.
pub const THRESHOLDS: [Decibel; RATES] = [
    Decibel::from_thousandths(-12_500),
    Decibel::from_thousandths(-9500),
    Decibel::from_thousandths(-8500),
    Decibel::from_thousandths(-6500),
    Decibel::from_thousandths(-5700),
    Decibel::from_thousandths(-4000),
    Decibel::from_thousandths(-1000),
    Decibel::from_thousandths(1300),
    Decibel::from_thousandths(3000),
    Decibel::from_thousandths(7200),
    Decibel::from_thousandths(9500),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packets_bits_and_slots_give_its_rate() {
        for PhysicalPacket { rate_bps, room, slots, name } in PHYSICAL_PACKETS {
            // 600 slots a second.
            assert_eq!(u64::from(room) * 8 * 600, u64::from(rate_bps) * slots, "{name}");
            assert_eq!(name, format!("{} kbit/s", f64::from(rate_bps) / 1000.0));
        }
    }

    #[test]
    fn a_plain_slot_holds_exactly_its_rate() {
        for PhysicalPacket { rate_bps, room, slots, name } in PLAIN_SLOTS {
            assert_eq!(slots, 1);
            assert_eq!(u64::from(room) * 8 * 600, u64::from(rate_bps * PLAIN_PARTS), "{name}");
        }
    }
}

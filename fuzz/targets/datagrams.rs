//! The test kit's datagrams: what was accepted arrives as it was sent, at most once, with no mark taken away; what is
//! too big or too many is refused; and the capture holds what the counters say.
#![no_main]

use airpath::{Arrival, Datagram, Duration, Ecn, End, Instant, Net, Scenario, Sent};
use airpath_analyze::{Options, analyze};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;

const LINKS: [&str; 7] = [
    "umts-384",
    "umts-384-simple",
    "chan-variable-rate",
    "hsdpa-7.2",
    "hsdpa-7.2-4ue",
    "lte-10mhz-still",
    "hdr-single",
];

static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let of = |link| Scenario::bundled(link).unwrap_or_else(|| panic!("no scenario {link}"));
    let mut scenarios: Vec<Scenario> = LINKS.map(of).into();
    for queue in ["codel", "fq_codel", "pie", "dualpi2"] {
        let key = format!("radio.variable.downlink.queue.{queue}");
        scenarios.push(scenarios[2].with(&key, "{}").unwrap_or_else(|error| panic!("{queue}: {error}")));
    }
    scenarios.push(Scenario::mahimahi("0\n5\n10", "1\n10").expect("two recordings"));
    scenarios
});

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    scenario: u8,
    seed: u8,
    mtu: u16,
    most_inside: u8,
    ops: Vec<Op<'a>>,
}

#[derive(Arbitrary, Debug)]
enum Op<'a> {
    Datagram {
        of_server: bool,
        ue: u8,
        src: (IpAddr, u16),
        /// `None` is the address of the end.
        dst: (Option<IpAddr>, u16),
        ecn: u8,
        payload: &'a [u8],
        zeros: u16,
        after_us: u16,
    },
    Octets {
        of_server: bool,
        packet: &'a [u8],
    },
    Wait {
        us: u32,
    },
}

struct Link {
    net: Net,
    now: Instant,
    /// Sent and not arrived, by where it came from.
    inside: Vec<(End, Datagram)>,
    octets: Vec<Vec<u8>>,
}

impl Link {
    fn advance(&mut self, until: Instant) {
        while let Some(arrival) = self.net.advance(until) {
            assert!(arrival.at >= self.now && arrival.at <= until);
            self.now = arrival.at;
            self.take(&arrival);
        }
        self.now = self.now.max(until);
        assert_eq!(self.net.now(), self.now);
    }

    fn take(&mut self, arrival: &Arrival) {
        if let Some(at) = self.octets.iter().position(|octets| same_but_ecn(octets, &arrival.packet)) {
            self.octets.swap_remove(at);
            return;
        }
        let datagram = arrival.datagram().expect("a datagram");
        let is_it = |(from, sent): &(End, Datagram)| {
            let is_from_server = *from == End::Server;
            is_from_server != (arrival.to == End::Server)
                && same(sent.src, datagram.src)
                && same(sent.dst, datagram.dst)
                && sent.payload == datagram.payload
                && (sent.ecn == datagram.ecn || sent.ecn != Ecn::NotEct && datagram.ecn == Ecn::Ce)
        };
        let at = self.inside.iter().position(is_it).expect("it was sent");
        self.inside.swap_remove(at);
    }
}

/// Over IPv6, an address of IPv4 is mapped.
fn same(one: SocketAddr, other: SocketAddr) -> bool {
    (one.ip().to_canonical(), one.port()) == (other.ip().to_canonical(), other.port())
}

/// Packets without the ECN field, and the checksum of an IPv4 header, which covers it.
fn same_but_ecn(one: &[u8], other: &[u8]) -> bool {
    let changed = match one.first().map(|first| first >> 4) {
        Some(4) => [1, 10, 11],
        Some(6) => [1, 1, 1],
        _ => return one == other,
    };
    one.len() == other.len() && (0..one.len()).all(|at| changed.contains(&at) || one[at] == other[at])
}

fuzz_target!(|input: Input<'_>| {
    let scenario = &SCENARIOS[usize::from(input.scenario) % SCENARIOS.len()];
    let (mtu, most) = (input.mtu % 3000, u64::from(input.most_inside));
    let ues = scenario.own_ues();
    let net = Net::builder(scenario).seed(input.seed.into()).mtu(mtu).most_inside(most).capture().build();
    let mut link = Link { net, now: Instant::ZERO, inside: Vec::new(), octets: Vec::new() };
    for op in input.ops.into_iter().take(100) {
        match op {
            Op::Datagram { of_server, ue, src, dst, ecn, payload, zeros, after_us } => {
                let ue = End::Ue(ues[usize::from(ue) % ues.len()]);
                let (from, to) = if of_server { (End::Server, ue) } else { (ue, End::Server) };
                let address = match (dst.0, src.0) {
                    (Some(address), _) => address,
                    (None, IpAddr::V4(_)) => to.ipv4().into(),
                    (None, IpAddr::V6(_)) => to.ipv6().into(),
                };
                let mut payload = payload.to_vec();
                payload.resize(payload.len() + usize::from(zeros % 1500), 0);
                let (src, dst) = (SocketAddr::from(src), SocketAddr::new(address, dst.1));
                let datagram = Datagram { ecn: Ecn::from_bits(ecn), ..Datagram::new(src, dst, payload) };
                let headers = if src.is_ipv4() && dst.is_ipv4() { 28 } else { 48 };
                let is_too_big = headers + datagram.payload.len() > usize::from(mtu);
                let at = link.now + Duration::from_nanos(u64::from(after_us) * 1000);
                let sent = link.net.send(at, from, datagram.clone());
                assert_eq!(sent == Sent::TooBig, is_too_big);
                if sent == Sent::Accepted {
                    link.inside.push((from, datagram));
                }
            }
            Op::Octets { of_server, packet } => {
                let from = if of_server { End::Server } else { End::Ue(ues[0]) };
                if link.net.send_ip(link.now, from, packet) == Sent::Accepted {
                    link.octets.push(packet.to_vec());
                }
            }
            Op::Wait { us } => {
                link.advance(link.now + Duration::from_nanos(u64::from(us % 3_000_000) * 1000))
            }
        }
    }
    link.advance(link.now.max(link.net.now()) + Duration::from_secs(20));
    let stats = link.net.stats();
    let both = [&stats.downlink, &stats.uplink];
    let [sent, delivered] = [both.map(|counts| counts.sent), both.map(|counts| counts.delivered)];
    let gone = both.map(|counts| counts.delivered + counts.dropped);
    assert!((0..2).all(|dir| gone[dir] <= sent[dir]));
    let left = sent[0] + sent[1] - delivered[0] - delivered[1];
    assert_eq!(left, (link.inside.len() + link.octets.len()) as u64);
    if scenario.ues() as usize == ues.len() {
        let report = analyze(link.net.capture(), Options::default()).expect("a capture");
        assert_eq!(report.file.records, sent.iter().chain(&delivered).sum::<u64>());
    }
});

//! Web pages segment by segment: lost segments are retransmitted, and acknowledgments travel with data.

use airpath_core::app::web::Report;
use airpath_core::element::{Cx, Element, Layout, Port};
use airpath_core::host::{FlowReport, Host, flow_reports};
use airpath_core::packet::{Dir, Flags, Packet};
use airpath_core::path::Path;
use airpath_core::scenario::Scenario;
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{ProbeMask, Reason};
use std::sync::{Arc, Mutex};

/// A segment as it enters the line: when, where to, and what it says.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    ms: u64,
    dir: Dir,
    seq: u32,
    ack: u32,
    payload: u32,
    syn: bool,
    ts: (u32, u32),
}

/// 25 ms each way at any rate. Notes every segment, and loses those with these numbers, from 0.
struct Line {
    lost: Vec<usize>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Element for Line {
    fn layout(&self) -> Layout {
        Layout { lanes: Dir::BOTH.to_vec(), ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        let mut seen = self.seen.lock().unwrap();
        let Packet { seq, ack, payload, .. } = *packet;
        let (ms, syn) = (cx.now.as_nanos() / 1_000_000, packet.flags.has(Flags::SYN));
        seen.push(Seen { ms, dir, seq, ack, payload, syn, ts: (packet.ts_val, packet.ts_ecr) });
        if self.lost.contains(&(seen.len() - 1)) {
            return cx.drop(dir, packet, Reason::LinkLoss);
        }
        cx.emit_at(cx.now + Duration::from_millis(25), dir.index() as u32, packet);
    }
}

/// Loads a page over the line with these endpoints; what was seen, and the reports.
fn load(web: &str, tcp: &str, lost: &[usize]) -> (Vec<Seen>, Vec<FlowReport>) {
    let text = format!("[tcp]\nmss = \"1000 B\"\n{tcp}\n[[flow]]\napp.web = {{ {web} }}");
    let flows = Scenario::parse(&text, &[]).unwrap().flows();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let line = Line { lost: lost.to_vec(), seen: seen.clone() };
    let hosts = Dir::BOTH.map(|dir| Box::new(Host::new(dir, 1, &flows, 1)) as Box<dyn Element>);
    let [server, ues] = hosts;
    let mut path = Path::new(vec![server, Box::new(line), ues], ProbeMask::NONE);
    path.handle_timeout(Instant::ZERO + Duration::from_secs(60));
    let ends = [0, 2].map(|index| path.element::<Host>(index).unwrap());
    let dropped = |ue, flow, dir| path.datagrams_dropped(ue, flow, dir);
    let reports = flow_reports(ends[0], ends[1], path.now(), dropped);
    let all_seen = seen.lock().unwrap().clone();
    (all_seen, reports)
}

/// (ms, sequence number, ACK, payload) of one direction.
fn of(seen: &[Seen], dir: Dir) -> Vec<(u64, u32, u32, u32)> {
    let mine = seen.iter().filter(|segment| segment.dir == dir);
    mine.map(|segment| (segment.ms, segment.seq, segment.ack, segment.payload)).collect()
}

fn page(reports: &[FlowReport]) -> &Report {
    reports[0].web.as_ref().unwrap()
}

const NO_HANDSHAKE: &str = "handshake = \"none\"";
const ONE_OBJECT: &str = "request = \"300 B\", page = \"1500 B\", objects = [\"800 B\"]";

#[test]
fn data_takes_the_acknowledgment_along() {
    let (seen, reports) = load(ONE_OBJECT, NO_HANDSHAKE, &[]);
    // The second segment of the page is acknowledged by the request that it sets off.
    let up = [(0, 1, 1, 300), (50, 301, 1501, 300), (300, 601, 2301, 0)];
    let down = [(25, 1, 301, 1000), (25, 1001, 301, 500), (75, 1501, 601, 800)];
    assert_eq!((of(&seen, Dir::Uplink), of(&seen, Dir::Downlink)), (up.to_vec(), down.to_vec()));
    assert_eq!(page(&reports).page_load_s, Some(0.1));
}

#[test]
fn a_slow_server_acknowledges_the_request_first() {
    let web = format!("{ONE_OBJECT}, think = \"1 s\"");
    let (seen, _) = load(&web, NO_HANDSHAKE, &[]);
    // The delayed ACK; its sequence number is that of the next data.
    let down = of(&seen, Dir::Downlink);
    assert_eq!(down[..3], [(225, 1, 301, 0), (1025, 1, 301, 1000), (1025, 1001, 301, 500)]);
    assert_eq!(down[3..], [(1275, 1501, 601, 0), (2075, 1501, 601, 800)]);
}

#[test]
fn the_handshake_comes_first_and_is_acknowledged_alone() {
    let (seen, _) = load(ONE_OBJECT, "", &[]);
    let first: Vec<_> = seen.iter().take(4).map(|s| (s.ms, s.dir, s.seq, s.ack, s.payload, s.syn)).collect();
    let expected = [
        (0, Dir::Uplink, 0, 0, 0, true),
        (25, Dir::Downlink, 0, 1, 0, true),
        (50, Dir::Uplink, 1, 1, 0, false),
        (50, Dir::Uplink, 1, 1, 300, false),
    ];
    assert_eq!(first, expected);
}

#[test]
fn a_lost_request_comes_again_after_the_timeout() {
    let (seen, reports) = load(ONE_OBJECT, NO_HANDSHAKE, &[0]);
    assert_eq!(of(&seen, Dir::Uplink)[..2], [(0, 1, 1, 300), (1000, 1, 1, 300)]);
    assert_eq!((page(&reports).request_retransmissions, page(&reports).requests), (1, 2));
    assert_eq!(
        (page(&reports).first_byte_s, page(&reports).page_load_s),
        (Some(1.05), Some(1.1)),
        "1 s is the initial timeout of RFC 6298 (2.1)"
    );
}

#[test]
fn a_lost_end_of_a_response_comes_again_after_the_timeout() {
    // Segments: request, two of the page, the request of the object, the object.
    let (seen, reports) = load(ONE_OBJECT, NO_HANDSHAKE, &[4]);
    assert_eq!((seen[4].ms, seen[4].payload), (75, 800));
    // The timeout is at its minimum of 1 s, RFC 6298 (2.4).
    assert_eq!(of(&seen, Dir::Downlink)[3], (1075, 1501, 601, 800));
    assert_eq!((reports[0].sender.timeouts, page(&reports).page_load_s), (1, Some(1.1)));
}

#[test]
fn when_the_acknowledging_request_is_lost_its_copy_acknowledges() {
    let (seen, reports) = load(ONE_OBJECT, NO_HANDSHAKE, &[3]);
    // Both sides have something unacknowledged, the server since 25 ms and the UE since 50.
    let down = of(&seen, Dir::Downlink);
    assert_eq!(down[2], (1025, 1, 301, 1000));
    // The timer comes before the duplicate, which is acknowledged at once though nothing is new.
    let up = of(&seen, Dir::Uplink);
    assert_eq!(up[2..4], [(1050, 301, 1501, 300), (1050, 601, 1501, 0)]);
    assert_eq!(page(&reports).page_load_s, Some(1.1));
}

#[test]
fn a_lost_last_segment_of_the_handshake_is_made_good_by_the_request() {
    let (seen, reports) = load(ONE_OBJECT, "", &[2]);
    assert_eq!((seen[2].ms, seen[2].payload, seen[3].payload), (50, 0, 300));
    assert_eq!((page(&reports).page_load_s, page(&reports).request_retransmissions), (Some(0.15), 0));
}

#[test]
fn when_the_request_is_lost_too_the_syn_ack_comes_again() {
    let (seen, reports) = load(ONE_OBJECT, "", &[2, 3]);
    let again: Vec<_> = seen.iter().filter(|segment| segment.dir == Dir::Downlink && segment.syn).collect();
    assert_eq!((again.len(), again[1].ms), (2, 1025));
    // At 1050 ms the request is retransmitted, then the SYN-ACK is acknowledged with the sequence number after it.
    assert_eq!(of(&seen, Dir::Uplink)[3..5], [(1050, 1, 1, 300), (1050, 301, 1, 0)]);
    // After a lost SYN-ACK the window is one segment, RFC 5681 (3.1). That ACK follows as a duplicate and so permits
    // the second, RFC 3042.
    assert_eq!(of(&seen, Dir::Downlink)[2..4], [(1075, 1, 301, 1000), (1075, 1001, 301, 500)]);
    assert_eq!((reports[0].sender.dupacks, page(&reports).page_load_s), (1, Some(1.15)));
}

#[test]
fn a_segment_lost_in_the_middle_is_repeated_by_duplicate_acks() {
    let web = "request = \"300 B\", page = \"9 kB\", objects = 0";
    // The page's second of nine segments.
    let (seen, reports) = load(web, NO_HANDSHAKE, &[2]);
    assert_eq!((reports[0].sender.fast_retransmits, reports[0].sender.timeouts), (1, 0));
    // Seven arrive above the gap; the ACK for the first of them is the delayed one of the segment before it.
    assert_eq!(reports[0].sender.dupacks, 6);
    assert!(of(&seen, Dir::Uplink)[1..].iter().all(|(_, seq, _, payload)| (*seq, *payload) == (301, 0)));
    assert_eq!(page(&reports).page_load_s, Some(0.1));
}

/// RFC 7323 (4.3): what is echoed is the timestamp of the segment that advanced the window last, in data
/// as in ACKs.
#[test]
fn timestamps_are_echoed_both_ways() {
    let (seen, _) = load(ONE_OBJECT, "timestamps = true", &[]);
    let echoes: Vec<_> = seen.iter().map(|segment| (segment.dir, segment.ts)).collect();
    let expected = [
        (Dir::Uplink, (0, 0)),
        (Dir::Downlink, (25, 0)),
        (Dir::Uplink, (50, 25)),
        (Dir::Uplink, (50, 25)),
        (Dir::Downlink, (75, 50)),
        (Dir::Downlink, (75, 50)),
        (Dir::Uplink, (100, 75)),
        (Dir::Downlink, (125, 100)),
        (Dir::Uplink, (350, 125)),
    ];
    assert_eq!(echoes, expected);
}

#[test]
fn the_window_restarts_after_a_pause_longer_than_the_timeout() {
    let burst = |think: &str| {
        let web =
            format!("request = \"300 B\", page = \"20 kB\", objects = [\"20 kB\"], think = \"{think}\"");
        let (seen, _) = load(&web, "handshake = \"none\"\ninitial_window = 2", &[]);
        let down = of(&seen, Dir::Downlink);
        // The response with the object begins behind the 20000 bytes of the page.
        let (begins, ..) = *down.iter().find(|(_, seq, _, payload)| *seq == 20_001 && *payload > 0).unwrap();
        down.iter().filter(|(ms, _, _, payload)| *ms == begins && *payload > 0).count()
    };
    // Ten ACKs of two segments each have opened the window from 2 segments to 12.
    assert_eq!(burst("0 s"), 12);
    // The request comes 50 ms after the last segment, and the timeout is 1 s: a pause of just that is not longer.
    assert_eq!((burst("950 ms"), burst("951 ms")), (12, 2));
    assert_eq!(burst("3 s"), 2);
}

#[test]
fn a_response_in_the_syn_ack_acknowledges_the_request_in_the_syn() {
    let web = "request = \"300 B\", page = \"900 B\", objects = 0";
    let (seen, reports) = load(web, "handshake = \"ttcp\"", &[]);
    // The last is the delayed ACK.
    assert_eq!(of(&seen, Dir::Downlink), [(25, 0, 301, 900)]);
    assert_eq!(of(&seen, Dir::Uplink)[1..], [(250, 301, 901, 0)]);
    let opens: Vec<_> = seen.iter().map(|segment| segment.syn).collect();
    assert_eq!(opens, [true, true, false]);
    assert_eq!((page(&reports).request_retransmissions, page(&reports).page_load_s), (0, Some(0.05)));
}

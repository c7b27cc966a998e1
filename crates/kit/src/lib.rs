//! A cellular link for tests of transports, in virtual time.
//!
//! [`Net`] is the path from a server over a wired link and a radio bearer to a UE, and back. Give it the packets of
//! your transport with their send times; they come out when the link delivers them: late, marked, or never. The link is
//! a *model*, not a setting of delay and loss. Its bearers segment packets into blocks, lose and retransmit blocks, and
//! deliver in order, with a buffer that fills: UMTS, HSDPA, LTE, 1xEV-DO, or a recorded trace.
//!
//! Nothing here reads a clock, opens a socket or starts a thread. A download of a minute takes milliseconds, and the
//! same calls with the same seed give the same times on every machine. It fits any transport that is sans-IO or takes
//! the time as an argument: QUIC by quinn-proto, TCP by smoltcp, a codec for media, your own.
//!
//! # A link
//!
//! ```
//! use airpath::{Datagram, Duration, End, Instant, Net, Scenario};
//!
//! let mut net = Net::new(&Scenario::bundled("umts-384").unwrap(), 1);
//! let [server, ue] = ["10.0.0.1:4433", "10.64.0.1:5000"].map(|address| address.parse().unwrap());
//! for number in 0..10 {
//!     net.send(Instant::ZERO, End::Server, Datagram::new(server, ue, vec![number; 1200]));
//! }
//! let mut times = Vec::new();
//! while let Some(arrival) = net.advance(Instant::ZERO + Duration::from_secs(5)) {
//!     times.push(arrival.at);
//! }
//! // 75 ms over the wire, 15 ms more over the radio, and 12,280 octets at 384 kbit/s take 255 ms.
//! assert_eq!(times.len(), 10);
//! assert!(times[0] > Instant::ZERO + Duration::from_millis(90));
//! assert!(times[9] > Instant::ZERO + Duration::from_millis(90 + 255));
//! ```
//!
//! # The loop
//!
//! A transport has its own timers. So query both sides for their next deadline, let the link run until then, and pass
//! on the arrivals. The link stops at each arrival, since the response may change the next event:
//!
//! ```
//! use airpath::{Datagram, Duration, End, Instant, Net, Scenario};
//!
//! /// Sends a number until it is confirmed, then the next.
//! struct StopAndWait { number: u8, timer: Option<Instant> }
//!
//! impl StopAndWait {
//!     fn transmit(&mut self, now: Instant) -> Option<Datagram> {
//!         let addresses = ["10.0.0.1:7", "10.64.0.1:7"].map(|address| address.parse().unwrap());
//!         self.timer.is_none().then(|| {
//!             self.timer = Some(now + Duration::from_secs(1));
//!             Datagram::new(addresses[0], addresses[1], vec![self.number; 500])
//!         })
//!     }
//!     fn handle_deadline(&mut self, now: Instant) {
//!         self.timer = self.timer.filter(|due| *due > now);
//!     }
//!     fn handle_confirmation(&mut self, number: u8) {
//!         if number == self.number {
//!             (self.number, self.timer) = (number + 1, None);
//!         }
//!     }
//! }
//!
//! let lossy = Scenario::bundled("umts-384").unwrap().with("wired.loss", "10 %").unwrap();
//! let mut net = Net::new(&lossy, 1);
//! let mut sender = StopAndWait { number: 0, timer: None };
//! let mut now = Instant::ZERO;
//! while sender.number < 20 {
//!     while let Some(datagram) = sender.transmit(now) {
//!         net.send(now, End::Server, datagram);
//!     }
//!     let wake = [net.next_wakeup(), sender.timer].into_iter().flatten().min().expect("stalled");
//!     match net.advance(wake) {
//!         Some(arrival) => {
//!             now = arrival.at;
//!             let datagram = arrival.datagram().unwrap();
//!             match arrival.to {
//!                 End::Server => sender.handle_confirmation(datagram.payload[0]),
//!                 ue => {
//!                     let (src, dst) = (datagram.dst, datagram.src);
//!                     net.send(now, ue, Datagram { src, dst, ..datagram });
//!                 }
//!             }
//!         }
//!         None => {
//!             now = wake;
//!             sender.handle_deadline(now);
//!         }
//!     }
//! }
//! assert!(now > Instant::ZERO + Duration::from_secs(20 / 5), "a round trip is more than 200 ms");
//! assert!(net.stats().downlink.dropped + net.stats().uplink.dropped > 0);
//! ```
//!
//! Three rules for such a loop:
//!
//! * After every arrival and every deadline, send all that the transport has to send, at that instant. Poll it at no
//!   other time: some transports send more if they are polled more often.
//! * A deadline in floating-point seconds may be rounded down to nanoseconds before it: the transport then does
//!   nothing, and the loop never ends. Add a microsecond.
//! * Buffers for segmentation offload hold several datagrams. Split them: each datagram is a packet.
//!
//! # What there is to see
//!
//! [`Net::stats`] counts packets sent, delivered, dropped and marked. [`Net::capture`] is a file for Wireshark,
//! [`Net::trace`] has events such as each packet's passage through the buffer, and [`Net::report`] has the counters of
//! each part of the link. For an assertion on a single run, fix both seeds, the link's and your transport's.
//!
//! # More than one UE
//!
//! UE 0 is yours. If the scenario gives flows to other UEs of the cell, these are simulated alongside and take their
//! share of the radio, as in `hsdpa-7.2-4ue`. UEs without flows are yours too: [`Scenario::own_ues`].
//!
//! # Stability
//!
//! This crate is the stable surface, [`airpath_core`] its implementation. Scenarios, results and names of events are
//! those of the Python package `airpath`, which also has this link as `airpath.Net`, and as a live one between real
//! programs.

/// Its example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

mod datagram;
mod edge;
mod epoch;
mod net;
mod observe;
mod scenario;

pub use airpath_core::error::ScenarioError;
pub use airpath_core::time::{Duration, Instant};
pub use airpath_core::trace::Value;
pub use datagram::{Arrival, Datagram, Ecn, End, Sent};
pub use epoch::Epoch;
pub use net::{Builder, Net};
pub use observe::{Counts, Event, Stats};
pub use scenario::Scenario;

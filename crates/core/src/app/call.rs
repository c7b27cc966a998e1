//! A call: video and audio over RTP and UDP, in both directions, each under a rate controller.
//!
//! Both callers send frames whose rate follows the target of their controller, and feedback on received packets: RFC
//! 8888 reports, requests for lost packets (RFC 4585) and for key frames. Feedback takes up bytes, and travels and is
//! lost like other packets. A call never ends a run; the flow's `stop` ends it.
//!
//! Left out: forward error correction, simulcast and temporal layers, discontinuous audio, call setup, several streams.

mod budget;
mod receiver;
mod rtcp;
mod sender;
mod source;

use super::datagram::{Datagram, Kind};
use super::datagrams::{Arrivals, Datagrams, Ends, Report};
use super::media::Frame;
use super::{Carrier, Component, Traffic};
use crate::controller::{self, Limits};
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::parameters;
use crate::rng::Stream;
use crate::steering::Steering;
use crate::time::{Duration, Instant};
use crate::units::{Bitrate, Bytes, Probability};
use budget::HEADERS;
use receiver::Receiver;
use rtcp::Message;
use sender::{AUDIO_BPS, Sender};
use source::{Encoder, Source};

parameters! {
    /// A call over UDP: video and audio in both directions, each under a rate controller.
    pub struct Config {
        /// Rate controller of both callers.
        pub controller: controller::Config,
        /// Video rate before there is feedback, with all headers.
        pub start_rate: Bitrate = Bitrate::from_bps(300_000),
        /// Lowest video rate, with all headers.
        pub min_rate: Bitrate = Bitrate::from_bps(50_000),
        /// Highest video rate, with all headers.
        pub max_rate: Bitrate = Bitrate::from_bps(2_500_000),
        /// Time from one frame to the next.
        pub interval: Duration = Duration::from_nanos(33_333_333),
        /// Length of a packet at most, with all headers.
        pub size: Bytes = Bytes::from_bytes(1200),
        /// Mean deviation of a frame's size from the mean size, as a share of it; 0 for none.
        pub frame_deviation: Probability = Probability::new(0.15).unwrap_or_default(),
        /// Size of a key frame in mean frame sizes.
        pub key_factor: f64 = 5.0,
        /// Whether there is audio: 138 B each 20 ms, with all headers.
        pub audio: bool = true,
        /// Whether the receiver of the flow's direction sends media too.
        pub both_ways: bool = true,
        /// Time between two feedback messages at least; the controller's own if absent.
        pub feedback_interval: Option<Duration>,
    }
}

/// Packets of a frame at most: its part has 11 bits in a simulated packet.
const MOST_PARTS: f64 = 2048.0;
/// Separates the random numbers of both callers.
const DRAWS_OF_ONE: u64 = 1 << 40;

impl Component for Config {
    fn build(&self, stream: Stream) -> Traffic {
        let other = stream.ahead(DRAWS_OF_ONE);
        Traffic::Datagrams(Ends {
            sender: Box::new(Peer::new(self.clone(), stream, true)),
            receiver: Box::new(Peer::new(self.clone(), other, false)),
        })
    }

    fn datagram_bytes(&self) -> [Bytes; 2] {
        [self.size, self.size]
    }

    fn carrier(&self) -> Carrier {
        Carrier::Datagrams
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        self.controller.validate().map_err(|error| error.under("controller"))?;
        super::validate_packet("size", self.size)?;
        if self.size.as_u64() < 200 {
            return Err(ScenarioError::new("size", "has no room for media", "write at least \"200 B\""));
        }
        super::validate_rate("min_rate", self.min_rate)?;
        let within = self.min_rate..=self.max_rate;
        if !within.contains(&self.start_rate) {
            let hint = "write min_rate, start_rate and max_rate in ascending order";
            return Err(ScenarioError::new("start_rate", "is not between min_rate and max_rate", hint));
        }
        if self.interval < Duration::from_millis(1) {
            let hint = "write a time such as \"33.3 ms\"";
            return Err(ScenarioError::new("interval", "is below 1 ms", hint));
        }
        if !(1.0..=100.0).contains(&self.key_factor) {
            return Err(ScenarioError::new("key_factor", "is not from 1 to 100", "write a number such as 5"));
        }
        let largest = self.max_rate.as_bps() as f64 * self.interval.as_secs_f64() / 8.0 * self.key_factor;
        if largest > self.most_frame_bytes() {
            let hint = "lower max_rate or key_factor, or shorten interval";
            let message =
                format!("a key frame of {} would have over 2048 packets", Bytes::from_bytes(largest as u64));
            return Err(ScenarioError::new("max_rate", message, hint));
        }
        if self.feedback_interval.is_some_and(|interval| interval < Duration::from_millis(1)) {
            let hint = "write a time such as \"50 ms\", or remove the key";
            return Err(ScenarioError::new("feedback_interval", "is below 1 ms", hint));
        }
        Ok(())
    }
}

impl Config {
    fn most_frame_bytes(&self) -> f64 {
        MOST_PARTS * (self.size.as_u64() as f64 - f64::from(HEADERS))
    }

    /// Limits of the controller, whose rate is that of all packets: audio has its share.
    fn limits(&self) -> Limits {
        let audio = if self.audio { AUDIO_BPS } else { 0.0 };
        let [start, min, max] =
            [self.start_rate, self.min_rate, self.max_rate].map(|rate| rate.as_bps() as f64 + audio);
        Limits { start, min, max }
    }
}

/// A caller.
struct Peer {
    config: Config,
    stream: Stream,
    /// Whether it sends in the direction of the flow.
    is_forward: bool,
    /// `None` before the call, and if it sends no media.
    sender: Option<Sender>,
    receiver: Receiver,
    arrivals: Arrivals,
    next_feedback: u32,
}

impl Peer {
    fn new(config: Config, stream: Stream, is_forward: bool) -> Self {
        let receiver = Receiver::new(Duration::ZERO, Instant::ZERO);
        let arrivals = Arrivals::default();
        Self { config, stream, is_forward, sender: None, receiver, arrivals, next_feedback: 0 }
    }
}

impl Datagrams for Peer {
    fn open(&mut self, start: Instant) {
        let config = &self.config;
        let own = config.controller.feedback_interval();
        self.receiver = Receiver::new(config.feedback_interval.unwrap_or(own), start);
        if !(self.is_forward || config.both_ways) {
            return;
        }
        let encoder = Encoder {
            interval: config.interval,
            deviation: config.frame_deviation.as_f64(),
            key_factor: config.key_factor,
            most_bytes: config.most_frame_bytes(),
        };
        let ecn = if config.controller.reads_marks() { Packet::ECT_1 } else { Packet::NOT_ECT };
        self.sender = Some(Sender::new(
            Source::new(encoder, self.stream.clone()),
            config.controller.build(config.limits(), start),
            config.size.as_u64() as u32,
            ecn,
            config.audio,
            start,
        ));
    }

    fn deadline(&self) -> Option<Instant> {
        let media = self.sender.as_ref().map_or(Instant::NEVER, Sender::deadline);
        let at = media.min(self.receiver.deadline());
        (at != Instant::NEVER).then_some(at)
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        let rtt = self.sender.as_ref().and_then(|sender| sender.rtt);
        if let Some(message) = self.receiver.poll_message(now, rtt) {
            let octets = message.encode();
            let len = rtcp::OVERHEAD + octets.len() as u32;
            self.receiver.count_message(len);
            let number = self.next_feedback;
            self.next_feedback = number.wrapping_add(1);
            return Some(Datagram { kind: Kind::Feedback, octets, ..Datagram::new(number, len, now) });
        }
        self.sender.as_mut()?.poll_transmit(now)
    }

    fn handle_packet(&mut self, now: Instant, datagram: Datagram) {
        if datagram.kind != Kind::Feedback {
            if self.arrivals.add(now, &datagram) {
                self.receiver.handle_packet(now, &datagram);
            }
            return;
        }
        let Some(sender) = &mut self.sender else { return };
        match Message::decode(&datagram.octets, now) {
            Some(Message::Congestion { begin, packets, made_at }) => {
                sender.handle_report(now, begin, &packets, made_at);
            }
            Some(Message::Nack(sequences)) => sender.handle_nack(now, &sequences),
            Some(Message::PictureLoss) => sender.handle_picture_loss(),
            None => {}
        }
    }

    fn decoded(&self) -> &[Frame] {
        self.receiver.decoded()
    }

    fn steering(&mut self) -> Option<&mut Steering> {
        self.sender.as_mut()?.steering()
    }

    fn report(&self, report: &mut Report) {
        let (own, other) = if self.is_forward { (0, 1) } else { (1, 0) };
        if self.is_forward {
            report.sent = self.sender.as_ref().map_or(0, Sender::packets);
        } else {
            self.arrivals.report(report);
        }
        let has_media = |direction| direction == 0 || self.config.both_ways;
        if has_media(own) {
            let sent = self.sender.as_ref().map(Sender::report).unwrap_or_default();
            report.media[own].get_or_insert_default().sender = sent;
        }
        if has_media(other) {
            report.media[other].get_or_insert_default().receiver = self.receiver.report();
        }
    }
}

//! QUIC by quinn-proto at both ends of a link, in virtual time: the same arguments give the same times.
//!
//! What quinn draws comes from a seed; connection IDs, keys and the handshake's random octets do not, as their lengths
//! are fixed and no time depends on them.

use airpath::{Datagram, Ecn, End, Epoch, Instant, Net};
use bytes::BytesMut;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use quinn_proto::rustls::{self, RootCertStore, crypto::ring, time_provider::TimeProvider, version::TLS13};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionStats, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    EndpointConfig, Event, ServerConfig, StreamEvent, StreamId, Transmit, TransportConfig,
};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

/// Self-signed, for the name `server`, with its key, which is public.
const CERTIFICATE: &[u8] = include_bytes!("certificate.der");
const KEY: &[u8] = include_bytes!("key.der");

/// A client's transfer: uplink and downlink streams, all at once.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Streams.
    pub streams: u64,
    /// Bytes that the client sends on each.
    pub up: u64,
    /// Bytes that the server answers on each.
    pub down: u64,
}

/// Congestion control of both ends.
#[derive(Clone, Copy, Debug)]
pub enum Control {
    /// RFC 9438.
    Cubic,
    /// RFC 9002, section 7.
    NewReno,
    /// BBR version 1.
    Bbr,
}

/// Outcome of a transfer.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When the client had everything.
    pub done: Instant,
    /// When and where each packet arrived, and how long it was.
    pub arrivals: Vec<(Instant, End, usize)>,
    /// What the server counted.
    pub server: ConnectionStats,
    /// What the client counted.
    pub client: ConnectionStats,
}

/// Makes a connection over the link and a transfer on it.
///
/// # Panics
/// If the connection is lost or stalls.
pub fn run(net: &mut Net, transfer: Transfer, control: Control, seed: u8) -> Outcome {
    let epoch = Epoch::new();
    let mut server = Host::server(epoch, control, seed);
    let mut client = Host::client(epoch, control, seed, transfer);
    let (mut now, mut turns_at_now) = (net.now(), 0);
    let mut arrivals = Vec::new();
    // Sides with an event: only these are polled for packets.
    let mut active = [true, false];
    while !client.has_everything() {
        for (host, is_active) in [&mut client, &mut server].into_iter().zip(active) {
            while is_active && let Some(datagram) = host.poll_transmit(now) {
                net.send(now, host.end, datagram);
            }
        }
        let next = [net.next_wakeup(), client.deadline(), server.deadline()].into_iter().flatten().min();
        let wake = next.expect("nothing will happen any more").max(now);
        turns_at_now = if wake == now { turns_at_now + 1 } else { 0 };
        assert!(turns_at_now < 10_000, "no progress at {now:?}");
        match net.advance(wake) {
            Some(arrival) => {
                now = arrival.at;
                active = [arrival.to != End::Server, arrival.to == End::Server];
                arrivals.push((now, arrival.to, arrival.packet.len()));
                let host = if arrival.to == End::Server { &mut server } else { &mut client };
                host.handle_datagram(now, arrival.datagram().expect("both ends send UDP"));
            }
            None => {
                now = wake;
                active = [client.handle_deadline(now), server.handle_deadline(now)];
            }
        }
    }
    Outcome { done: now, arrivals, server: server.stats(), client: client.stats() }
}

/// An end with its one connection.
struct Host {
    end: End,
    epoch: Epoch,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// What the endpoint sends without a connection.
    answers: VecDeque<Datagram>,
    /// Bytes still to be written, followed by the end of the stream.
    writing: BTreeMap<StreamId, u64>,
    /// First octets of what a server reads: the answer's length.
    requests: BTreeMap<StreamId, Vec<u8>>,
    /// What a client has yet to do.
    transfer: Option<Transfer>,
    /// Streams of a client that have not ended, and streams that it has yet to open.
    open: u64,
    unopened: u64,
}

impl Host {
    fn server(epoch: Epoch, control: Control, seed: u8) -> Self {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
        let certificate = CertificateDer::from(CERTIFICATE);
        let mut config =
            ServerConfig::with_single_cert(vec![certificate], key).expect("they belong together");
        config.transport_config(transport(control));
        Self::new(End::Server, epoch, Some(Arc::new(config)), seed)
    }

    fn client(epoch: Epoch, control: Control, seed: u8, transfer: Transfer) -> Self {
        let mut host = Self::new(End::Ue(0), epoch, None, seed);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(CERTIFICATE)).expect("it is a certificate");
        let tls = rustls::ClientConfig::builder_with_details(
            Arc::new(ring::default_provider()),
            Arc::new(FixedDay),
        );
        let tls = tls.with_protocol_versions(&[&TLS13]).expect("ring has TLS 1.3");
        let tls = tls.with_root_certificates(roots).with_no_client_auth();
        let mut config =
            ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("it has AES-128-GCM")));
        config.transport_config(transport(control));
        let connection =
            host.endpoint.connect(epoch.std(Instant::ZERO), config, address(End::Server), "server");
        host.connection = Some(connection.expect("name and address are right"));
        host.transfer = Some(transfer);
        (host.open, host.unopened) = (transfer.streams, transfer.streams);
        host
    }

    fn new(end: End, epoch: Epoch, server: Option<Arc<ServerConfig>>, seed: u8) -> Self {
        let mut config = EndpointConfig::default();
        config.rng_seed(Some([seed ^ if end == End::Server { 0x80 } else { 0 }; 32]));
        Self {
            end,
            epoch,
            endpoint: Endpoint::new(Arc::new(config), server, true, None),
            connection: None,
            answers: VecDeque::new(),
            writing: BTreeMap::new(),
            requests: BTreeMap::new(),
            transfer: None,
            open: 0,
            unopened: 0,
        }
    }

    fn has_everything(&self) -> bool {
        self.transfer.is_some() && self.open == 0
    }

    fn stats(&self) -> ConnectionStats {
        self.connection.as_ref().map(|(_, connection)| connection.stats()).unwrap_or_default()
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        let mut payload = Vec::new();
        // One datagram at a time: more in one buffer would have to be cut.
        let transmit = self.connection.as_mut()?.1.poll_transmit(self.epoch.std(now), 1, &mut payload)?;
        Some(self.datagram(&transmit, payload))
    }

    fn datagram(&self, transmit: &Transmit, payload: Vec<u8>) -> Datagram {
        let ecn = Ecn::from_bits(transmit.ecn.map_or(0, |ecn| ecn as u8));
        Datagram { src: address(self.end), dst: transmit.destination, ecn, payload }
    }

    fn deadline(&mut self) -> Option<Instant> {
        let (_, connection) = self.connection.as_mut()?;
        connection.poll_timeout().map(|at| self.epoch.at(at))
    }

    /// Whether a deadline has come.
    fn handle_deadline(&mut self, now: Instant) -> bool {
        let is_due = self.deadline().is_some_and(|due| due <= now);
        if is_due && let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(self.epoch.std(now));
            self.follow_events(now);
        }
        is_due
    }

    fn handle_datagram(&mut self, now: Instant, datagram: Datagram) {
        let (at, mut answer) = (self.epoch.std(now), Vec::new());
        let octets = BytesMut::from(&datagram.payload[..]);
        let ecn = EcnCodepoint::from_bits(datagram.ecn.bits());
        let event = self.endpoint.handle(at, datagram.src, Some(datagram.dst.ip()), ecn, octets, &mut answer);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, at, &mut answer, None);
                self.connection = Some(accepted.unwrap_or_else(|error| panic!("{}", error.cause)));
            }
            Some(DatagramEvent::Response(transmit)) => {
                let answer = self.datagram(&transmit, answer);
                self.answers.push_back(answer);
            }
            None => {}
        }
        self.follow_events(now);
    }

    /// Exchanges events between connection and endpoint, and handles stream events.
    fn follow_events(&mut self, now: Instant) {
        let Some((handle, mut connection)) = self.connection.take() else { return };
        loop {
            if let Some(event) = connection.poll_endpoint_events() {
                if let Some(answer) = self.endpoint.handle_event(handle, event) {
                    connection.handle_event(answer);
                }
                continue;
            }
            match connection.poll() {
                Some(Event::ConnectionLost { reason }) => panic!("lost at {now:?}: {reason}"),
                Some(Event::Connected | Event::Stream(StreamEvent::Available { .. })) => {
                    self.open_streams(&mut connection);
                }
                Some(Event::Stream(StreamEvent::Opened { dir })) => {
                    while let Some(id) = connection.streams().accept(dir) {
                        self.read(&mut connection, id);
                    }
                }
                Some(Event::Stream(StreamEvent::Readable { id })) => self.read(&mut connection, id),
                Some(Event::Stream(StreamEvent::Writable { id })) => self.write(&mut connection, id),
                Some(_) => {}
                None => break,
            }
        }
        self.connection = Some((handle, connection));
    }

    /// A client opens as many streams as it may, each with a request: eight octets with the number of bytes requested.
    fn open_streams(&mut self, connection: &mut Connection) {
        let Some(transfer) = self.transfer else { return };
        while self.unopened > 0
            && let Some(id) = connection.streams().open(Dir::Bi)
        {
            self.unopened -= 1;
            let written = connection.send_stream(id).write(&transfer.down.to_be_bytes());
            assert_eq!(written, Ok(8), "a new stream has room");
            self.writing.insert(id, transfer.up);
            self.write(connection, id);
        }
    }

    fn write(&mut self, connection: &mut Connection, id: StreamId) {
        const OCTETS: [u8; 16_384] = [0; 16_384];
        let Some(left) = self.writing.get_mut(&id) else { return };
        let mut stream = connection.send_stream(id);
        while *left > 0 {
            let most = OCTETS.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
            let Ok(written) = stream.write(&OCTETS[..most]) else { return };
            *left -= written as u64;
        }
        self.writing.remove(&id);
        stream.finish().expect("the stream is not stopped");
    }

    fn read(&mut self, connection: &mut Connection, id: StreamId) {
        let mut stream = connection.recv_stream(id);
        // Packets that arrive late may announce data of a stream that is read to its end.
        let Ok(mut chunks) = stream.read(true) else { return };
        let request = self.requests.entry(id).or_default();
        let ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => request.extend(chunk.bytes.iter().take(8 - request.len())),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let _ = chunks.finalize();
        if !ended {
            return;
        }
        let whole = self.requests.remove(&id).unwrap_or_default();
        if self.end == End::Server {
            let octets = whole.try_into().expect("a request has eight octets");
            self.writing.insert(id, u64::from_be_bytes(octets));
            self.write(connection, id);
        } else {
            self.open -= 1;
        }
    }
}

fn address(end: End) -> SocketAddr {
    SocketAddr::new(end.ipv4().into(), 4433)
}

fn transport(control: Control) -> Arc<TransportConfig> {
    let factory: Arc<dyn ControllerFactory + Send + Sync> = match control {
        Control::Cubic => Arc::new(CubicConfig::default()),
        Control::NewReno => Arc::new(NewRenoConfig::default()),
        Control::Bbr => Arc::new(BbrConfig::default()),
    };
    let mut config = TransportConfig::default();
    config.congestion_controller_factory(factory);
    Arc::new(config)
}

/// Certificates are judged as of this day, 1 January 2027, whatever the clock says.
#[derive(Debug)]
struct FixedDay;

impl TimeProvider for FixedDay {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_798_761_600)))
    }
}

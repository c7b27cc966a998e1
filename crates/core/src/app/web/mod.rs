//! A web page: a browser at the UE requests the page and then its objects, a server responds. HTTP/1.1, RFC 9112; HTTP/2, RFC
//! 9113; HTTP/3, RFC 9114. \[lundsten\] 5.4.1 treats such a page as the typical small file of 3G, and the older practice, a
//! connection for each object, as the worse case.
//!
//! An object is known once a share of the object that refers to it has arrived ([`objects`]); without a composition once the page
//! is complete. With HTTP/1.1 on a persistent connection (RFC 9112 (9.3)) a request follows the complete response before it, or
//! with pipelining (9.3.2) all requests of objects go at once; the server works on the requests of a connection one after
//! the other. With a connection for each object, as HTTP/1.0 does, the page has the first, and `parallel` at once are open for
//! objects; a new one is opened when one has what it was opened for. A pool is what browsers have: up to `parallel` persistent
//! connections, each with one request at a time. With HTTP/2 and 3 all requests go at once on one connection, and the server sends
//! the responses by their priorities ([`priority`]): over TCP in frames of up to 8 kB of one stream of bytes, where a loss delays
//! all responses; over [`crate::quic`] in streams of their own, where it delays those whose data was lost. Requests and responses
//! are payload of the transport, their headers included.
//!
//! TLS ([`tls`]) opens connections of HTTP/1.1 on request, of HTTP/2 unless it is turned off, and is a part of QUIC.
//!
//! Left out: names to be resolved, redirections, caches, closing (a connection that has done its work falls silent), header
//! compression, settings and flow control of HTTP/2.

mod browser;
pub mod h3;
pub mod labels;
pub mod objects;
pub mod priority;
mod server;
pub mod tls;

pub use browser::{Breakdown, Browser, ObjectRow, Report};
pub use server::{Server, Work};

use super::distribution::Distribution;
use super::{Carrier, Component, Traffic};
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::quic;
use crate::registry::parameters;
use crate::rng::Stream;
use crate::time::Duration;
use crate::units::Bytes;
use objects::{Composition, Object, URGENCY};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tls::{Flights, Resumption, Version};

/// Most objects of a page.
const MOST_OBJECTS: usize = 1000;
/// Largest message of TLS.
const MOST_TLS: u64 = 65_535;
/// IP packets of QUIC with the usual `tcp.mss`.
const QUIC_PACKET: u64 = 1500;

/// A web page with its objects over HTTP; complete when the last response is acknowledged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Version of HTTP, and with it the transport.
    pub http: Http,
    /// Size of every request.
    pub request: Bytes,
    /// The objects of the page: a composition by name, or by the keys below.
    pub composition: Composition,
    /// Size of the response with the page itself.
    pub page: Bytes,
    /// How many objects the page has, or a list of the sizes of their responses.
    pub objects: Objects,
    /// Size of the response with an object, or its mean; a list in `objects` has its own.
    pub object: Bytes,
    /// How these sizes are distributed.
    pub sizes: Distribution,
    /// With HTTP/1.1: one connection for everything, one for the page and each object, or a pool.
    pub connections: Connections,
    /// With `per_object` and `pool`: connections that are open at once; with `per_object` those for objects.
    pub parallel: u32,
    /// With `persistent`: the objects' requests do not wait for the responses before them.
    pub pipelining: bool,
    /// Time that the server takes for each response before it sends it.
    pub think: Duration,
    /// Version of TLS; none with HTTP/1.1 and 1.3 otherwise if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<Version>,
    /// What is remembered of earlier connections to the server.
    pub resumption: Resumption,
    /// ClientHello: 1917 B in Chromium 156, with a post-quantum key share; about 300 to 517 B without.
    pub client_hello: Bytes,
    /// Certificates of the server.
    pub certificates: Bytes,
    /// With HTTP/3: flow control of the connection, the same at both ends.
    pub quic: quic::Config,
}

parameters! {
    /// Version of HTTP.
    pub enum Http {
        /// One request at a time on a connection, over TCP.
        #[default]
        #[serde(rename = "1.1")]
        Http11,
        /// Streams with priorities on one connection, over TCP.
        #[serde(rename = "2")]
        Http2,
        /// Streams with priorities on one connection, over QUIC.
        #[serde(rename = "3")]
        Http3,
    }
}

/// The objects of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "neither a number of objects nor a list of their sizes; write 8, or [\"10 kB\"]"
)]
pub enum Objects {
    /// This many, with sizes by `object` and `sizes`.
    Count(u32),
    /// The sizes of their responses.
    Sizes(Vec<Bytes>),
}

/// What a connection is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connections {
    /// Everything, as HTTP/1.1 does.
    #[default]
    Persistent,
    /// One response, as HTTP/1.0 does.
    PerObject,
    /// One response after the other, several connections at once, as browsers do with HTTP/1.1.
    Pool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            http: Http::default(),
            request: Bytes::from_bytes(300),
            composition: Composition::default(),
            // 100 kB in all: the size of [lundsten] 5.4.1.
            page: Bytes::from_bytes(20_000),
            objects: Objects::Count(8),
            object: Bytes::from_bytes(10_000),
            sizes: Distribution::Fixed,
            connections: Connections::default(),
            parallel: 4,
            pipelining: false,
            think: Duration::ZERO,
            tls: None,
            resumption: Resumption::default(),
            client_hello: Bytes::from_bytes(1917),
            certificates: Bytes::from_bytes(3000),
            quic: quic::Config::default(),
        }
    }
}

impl Config {
    /// All objects, the page first.
    fn page(&self, mut stream: Stream) -> Vec<Object> {
        if let Some(objects) = self.composition.objects() {
            return objects;
        }
        let page = self.page.as_u64();
        let object = |size| Object { size, parent: 0, after: page, urgency: URGENCY, incremental: false };
        let mut objects = vec![Object { after: 0, ..object(page) }];
        match &self.objects {
            Objects::Sizes(sizes) => objects.extend(sizes.iter().map(|size| object(size.as_u64()))),
            Objects::Count(count) => {
                let draw = |_| object(self.sizes.draw(&mut stream, self.object.as_u64()).max(1));
                objects.extend((0..*count).map(draw));
            }
        }
        objects
    }

    fn object_count(&self) -> usize {
        match (self.composition.objects(), &self.objects) {
            (Some(objects), _) => objects.len() - 1,
            (None, Objects::Count(count)) => *count as usize,
            (None, Objects::Sizes(sizes)) => sizes.len(),
        }
    }

    fn mode(&self) -> Mode {
        match (self.http, self.connections) {
            (Http::Http2 | Http::Http3, _) => Mode::Streams,
            (Http::Http11, Connections::Persistent) if self.pipelining => Mode::Pipelined,
            (Http::Http11, Connections::Persistent) => Mode::Serial,
            (Http::Http11, Connections::PerObject) => Mode::PerObject,
            (Http::Http11, Connections::Pool) => Mode::Pool,
        }
    }

    fn version(&self) -> Version {
        self.tls.unwrap_or(if self.http == Http::Http11 { Version::None } else { Version::Tls13 })
    }

    /// Refuses keys of TLS that do not go together.
    fn validate_tls(&self) -> Result<(), ScenarioError> {
        let error = |key: &str, message: &str, hint: &str| Err(ScenarioError::new(key, message, hint));
        let version = self.version();
        if self.http == Http::Http3 && version != Version::Tls13 {
            return error("tls", "QUIC has TLS 1.3", "remove the key, or set http = \"2\"");
        }
        if self.resumption != Resumption::Off && version == Version::None {
            return error("resumption", "there is no TLS to resume", "set tls = \"1.3\", or remove the key");
        }
        if self.resumption == Resumption::EarlyData && version == Version::Tls12 {
            return error("resumption", "TLS 1.2 has no early data", "set tls = \"1.3\", or \"session\"");
        }
        for (key, size) in [("client_hello", self.client_hello), ("certificates", self.certificates)] {
            if !(1..=MOST_TLS).contains(&size.as_u64()) {
                return error(key, "is no size of a message of TLS", "write a size from 1 B to 65535 B");
            }
        }
        Ok(())
    }
}

impl Component for Config {
    fn build(&self, stream: Stream) -> Traffic {
        let flights = Flights::new(self.version(), self.resumption, self.client_hello, self.certificates);
        // What today's results have for a page as [lundsten] knew it stays as it is.
        let has_breakdown = !flights.is_empty()
            || self.composition != Composition::Keys
            || self.connections == Connections::Pool
            || self.http != Http::Http11;
        Traffic::Page(Page {
            is_quic: self.http == Http::Http3,
            quic: self.quic.clone(),
            request: self.request.as_u64(),
            objects: self.page(stream).into(),
            mode: self.mode(),
            parallel: self.parallel as usize,
            think: self.think,
            flights,
            has_breakdown,
        })
    }

    fn carrier(&self) -> Carrier {
        if self.http == Http::Http3 { Carrier::Datagrams } else { Carrier::TcpBothWays }
    }

    fn datagram_bytes(&self) -> [Bytes; 2] {
        let bytes = if self.http == Http::Http3 { QUIC_PACKET } else { 0 };
        [Bytes::from_bytes(bytes); 2]
    }

    fn check_direction(&self, direction: Dir) -> Result<(), ScenarioError> {
        if direction == Dir::Uplink {
            let hint = "write \"downlink\", or remove the key";
            return Err(ScenarioError::new("direction", "a web page comes to the UE", hint));
        }
        Ok(())
    }

    /// A pool is done when the browser has everything.
    fn ends(&self, connection: u16) -> u32 {
        u32::from(self.mode() != Mode::Pool || connection == 0)
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        let error = |key: &str, message: String, hint: &str| Err(ScenarioError::new(key, message, hint));
        let required = [("request", self.request), ("page", self.page), ("object", self.object)];
        if let Some((key, _)) = required.into_iter().find(|(_, size)| size.as_u64() == 0) {
            return error(key, "nothing would be sent".into(), "write a size such as \"300 B\"");
        }
        if matches!(&self.objects, Objects::Sizes(sizes) if sizes.iter().any(|size| size.as_u64() == 0)) {
            return error("objects", "an object of no bytes".into(), "write a size such as \"10 kB\"");
        }
        if self.object_count() > MOST_OBJECTS {
            let message = format!("{} objects on a page", self.object_count());
            return error("objects", message, "write at most 1000, or several flows");
        }
        if self.parallel == 0 {
            return error("parallel", "no object would be fetched".into(), "write at least 1, such as 4");
        }
        if self.http != Http::Http11 && self.connections != Connections::Persistent {
            let message = "HTTP/2 and 3 have one connection".into();
            return error("connections", message, "remove the key, or set http = \"1.1\"");
        }
        if self.pipelining && (self.connections != Connections::Persistent || self.http != Http::Http11) {
            let hint = "set connections = \"persistent\" and http = \"1.1\", or pipelining = false";
            let message = match self.http {
                Http::Http11 => "a connection has one request only at a time",
                _ => "HTTP/2 and 3 have streams instead",
            };
            return error("pipelining", message.into(), hint);
        }
        if self.http != Http::Http3 && self.quic != quic::Config::default() {
            let message = "only HTTP/3 comes over QUIC".into();
            return error("quic", message, "set http = \"3\", or remove the key");
        }
        self.quic.validate().map_err(|inner| inner.under("quic"))?;
        self.validate_tls()
    }

    fn connections(&self) -> u16 {
        match self.mode() {
            Mode::Serial | Mode::Pipelined | Mode::Streams => 1,
            Mode::PerObject => 1 + self.object_count() as u16,
            Mode::Pool => (1 + self.object_count()).min(self.parallel as usize) as u16,
        }
    }
}

/// How requests use connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// One connection, one request at a time.
    Serial,
    /// One connection, responses in the order of the requests.
    Pipelined,
    /// One connection, all at once.
    Streams,
    /// A connection for each object.
    PerObject,
    /// Several connections, one request at a time on each.
    Pool,
}

/// A page with its objects, as browser and server know it.
#[derive(Clone, Debug)]
pub struct Page {
    /// Whether it comes over QUIC.
    pub is_quic: bool,
    /// Its flow control then.
    pub quic: quic::Config,
    /// Size of every request, bytes.
    pub request: u64,
    /// All objects, the page first.
    pub objects: Arc<[Object]>,
    mode: Mode,
    parallel: usize,
    think: Duration,
    /// Flights of TLS.
    pub flights: Flights,
    has_breakdown: bool,
}

impl Page {
    /// Whether the browser, not a server, knows when everything is done.
    pub fn is_pool(&self) -> bool {
        self.mode == Mode::Pool
    }

    /// How many connections there may be.
    fn connections(&self) -> usize {
        match self.mode {
            Mode::Serial | Mode::Pipelined | Mode::Streams => 1,
            Mode::PerObject => self.objects.len(),
            Mode::Pool => self.objects.len().min(self.parallel),
        }
    }

    /// Bytes of the responses that connection number `connection` brings, if that is fixed.
    fn bytes_on(&self, connection: u16) -> Option<u64> {
        match self.mode {
            Mode::Serial | Mode::Pipelined | Mode::Streams => {
                Some(self.objects.iter().fold(0, |sum, object| sum.saturating_add(object.size)))
            }
            Mode::PerObject => Some(self.objects[usize::from(connection)].size),
            Mode::Pool => None,
        }
    }
}

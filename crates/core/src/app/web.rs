//! A web page: a browser at the UE requests the page and then its objects, a server responds. HTTP/1.1, RFC 9112;
//! \[lundsten\] 5.4.1 treats such a page as the typical small file of 3G, and the older practice, a connection for each
//! object, as the worse case.
//!
//! The objects are known when the page is complete. On a persistent connection (RFC 9112 (9.3)) a request
//! follows the complete response before it, or with pipelining (9.3.2) all requests of objects go at once; the
//! server works on the requests of a connection one after the other. With a connection for each object, as
//! HTTP/1.0 does, the page has the first, and `parallel` at once are open for objects; a new one is opened when one
//! has what it was opened for. Requests and responses are TCP payload, their headers included.
//!
//! Left out: names to be resolved, redirections, caches, TLS, closing (a connection that has done its work
//! falls silent), objects that the browser finds before the page is complete.

mod browser;
mod server;

pub use browser::{Browser, Report};
pub use server::Server;

use super::distribution::Distribution;
use super::{Carrier, Component, Traffic};
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::rng::Stream;
use crate::time::Duration;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Most objects of a page.
const MOST_OBJECTS: usize = 1000;

/// A web page with its objects over HTTP; complete when the last response is acknowledged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Size of every request.
    pub request: Bytes,
    /// Size of the response with the page itself.
    pub page: Bytes,
    /// How many objects the page has, or a list of the sizes of their responses.
    pub objects: Objects,
    /// Size of the response with an object, or its mean; a list in `objects` has its own.
    pub object: Bytes,
    /// How these sizes are distributed.
    pub sizes: Distribution,
    /// One connection for everything, or one for the page and each object.
    pub connections: Connections,
    /// With `per_object`: connections for objects that are open at once.
    pub parallel: u32,
    /// With `persistent`: the objects' requests do not wait for the responses before them.
    pub pipelining: bool,
    /// Time that the server takes for each response before it sends it.
    pub think: Duration,
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
}

impl Default for Config {
    fn default() -> Self {
        Self {
            request: Bytes::from_bytes(300),
            // 100 kB in all: the size of [lundsten] 5.4.1.
            page: Bytes::from_bytes(20_000),
            objects: Objects::Count(8),
            object: Bytes::from_bytes(10_000),
            sizes: Distribution::Fixed,
            connections: Connections::default(),
            parallel: 4,
            pipelining: false,
            think: Duration::ZERO,
        }
    }
}

impl Config {
    /// Sizes of all responses, the page's first.
    fn responses(&self, mut stream: Stream) -> Vec<u64> {
        let mut responses = vec![self.page.as_u64()];
        match &self.objects {
            Objects::Sizes(sizes) => responses.extend(sizes.iter().map(|size| size.as_u64())),
            Objects::Count(count) => {
                let draw = |_| self.sizes.draw(&mut stream, self.object.as_u64()).max(1);
                responses.extend((0..*count).map(draw));
            }
        }
        responses
    }

    fn object_count(&self) -> usize {
        match &self.objects {
            Objects::Count(count) => *count as usize,
            Objects::Sizes(sizes) => sizes.len(),
        }
    }
}

impl Component for Config {
    fn build(&self, stream: Stream) -> Traffic {
        Traffic::Page(Page {
            request: self.request.as_u64(),
            responses: self.responses(stream).into(),
            connections: self.connections,
            parallel: self.parallel as usize,
            pipelining: self.pipelining,
            think: self.think,
        })
    }

    fn carrier(&self) -> Carrier {
        Carrier::TcpBothWays
    }

    fn check_direction(&self, direction: Dir) -> Result<(), ScenarioError> {
        if direction == Dir::Uplink {
            let hint = "write \"downlink\", or remove the key";
            return Err(ScenarioError::new("direction", "a web page comes to the UE", hint));
        }
        Ok(())
    }

    fn ends(&self, _connection: u16) -> u32 {
        1
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
        if self.pipelining && self.connections == Connections::PerObject {
            let hint = "set connections = \"persistent\", or pipelining = false";
            return error("pipelining", "a connection has one request only".into(), hint);
        }
        Ok(())
    }

    fn connections(&self) -> u16 {
        match self.connections {
            Connections::Persistent => 1,
            Connections::PerObject => 1 + self.object_count() as u16,
        }
    }
}

/// A page with its sizes, as browser and server know it.
#[derive(Clone, Debug)]
pub struct Page {
    /// Size of every request, bytes.
    request: u64,
    /// Sizes of all responses, the page's first, bytes.
    responses: Arc<[u64]>,
    connections: Connections,
    parallel: usize,
    pipelining: bool,
    think: Duration,
}

impl Page {
    /// What connection number `connection` brings, in this order.
    fn responses_on(&self, connection: u16) -> &[u64] {
        match self.connections {
            Connections::Persistent => &self.responses,
            Connections::PerObject => std::slice::from_ref(&self.responses[usize::from(connection)]),
        }
    }
}

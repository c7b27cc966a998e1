//! QUIC and TCP of other implementations over the link.

#![allow(clippy::unwrap_used)]

mod beside_quinn;
mod quic;
mod tcp;

use airpath::Scenario;

fn bundled(name: &str) -> Scenario {
    Scenario::bundled(name).unwrap()
}

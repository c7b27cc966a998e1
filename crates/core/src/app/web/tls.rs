//! TLS of a page's connections: which flights open a connection, and when data may follow.
//!
//! Round trips before the request, after TCP's: TLS 1.2 two, or one with a session that is resumed (RFC 5246 (7.3)); TLS 1.3 one,
//! or none with early data (RFC 8446 (2.3)). The certificates are in `certificates`, a flight that resumes a session has none.
//!
//! Sizes of the other messages, records included: ServerHello with a key share of X25519 127 B, EncryptedExtensions and Finished
//! 64 B, a change of cipher 6 B (RFC 8446 (4), appendix D.4); ClientKeyExchange, change of cipher and Finished of TLS 1.2 93 B, the
//! server's 51 B (RFC 5246 (7.4), RFC 8422 (5.7)). Left out: records of responses over HTTP/1.1 (22 bytes in 16 kB), tickets.

use crate::quic::Tls;
use crate::registry::parameters;
use crate::units::Bytes;

/// Records of TLS around a frame of HTTP/2: header, type and authentication tag, RFC 8446 (5.2).
pub const RECORD: u16 = 5 + 1 + 16;

/// ServerHello, change of cipher, EncryptedExtensions and Finished.
const SERVER_13: u64 = 127 + 6 + 64;
/// Records around a server's flight: one with a type and a tag, the ServerHello's, and the change of cipher.
const RECORDS: u64 = RECORD as u64 + 5 + 6;
/// CertificateVerify with ECDSA: RFC 8446 (4.4.3).
const VERIFY: u64 = 80;
/// Change of cipher and Finished of a TLS 1.3 client.
const CLIENT_13: u64 = 6 + 58;
/// ServerHello of TLS 1.2 with ServerKeyExchange and ServerHelloDone.
const SERVER_12: u64 = 100 + 120 + 9;
const CLIENT_12: u64 = 93;
const FINISHED_12: u64 = 51;
/// ServerHello of TLS 1.2 that resumes a session.
const RESUMES_12: u64 = 100;

parameters! {
    /// Version of TLS.
    pub enum Version {
        /// No TLS.
        #[default]
        None,
        /// TLS 1.2: two round trips.
        #[serde(rename = "1.2")]
        Tls12,
        /// TLS 1.3: one round trip.
        #[serde(rename = "1.3")]
        Tls13,
    }

    /// What browser and server remember of earlier connections.
    pub enum Resumption {
        /// Nothing.
        #[default]
        Off,
        /// A session: the server sends no certificates.
        Session,
        /// A session, and requests go with the first flight: 0-RTT, with TLS 1.3.
        EarlyData,
    }
}

/// The flights that open a connection, the client's and the server's in turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flights {
    sizes: Vec<u64>,
    /// The client may send requests with its first flight.
    pub early_data: bool,
}

impl Flights {
    /// The flights of this version; sizes of ClientHello and of the server's certificates.
    pub fn new(version: Version, resumption: Resumption, client_hello: Bytes, certificates: Bytes) -> Self {
        let (hello, certificates) = (client_hello.as_u64(), certificates.as_u64());
        let sizes = match (version, resumption) {
            (Version::None, _) => vec![],
            (Version::Tls12, Resumption::Off) => {
                vec![hello, SERVER_12 + certificates, CLIENT_12, FINISHED_12]
            }
            (Version::Tls12, _) => vec![hello, RESUMES_12 + FINISHED_12, FINISHED_12],
            (Version::Tls13, Resumption::Off) => vec![hello, SERVER_13 + VERIFY + certificates, CLIENT_13],
            (Version::Tls13, _) => vec![hello, SERVER_13, CLIENT_13],
        };
        Self { sizes, early_data: version == Version::Tls13 && resumption == Resumption::EarlyData }
    }

    /// The messages in QUIC: the server's flight without records and change of cipher.
    pub fn of_quic(&self) -> Tls {
        let [client_hello, server_flight] = [0, 1].map(|flight| self.size(flight).unwrap_or(1));
        Tls {
            client_hello,
            server_flight: server_flight.saturating_sub(RECORDS).max(1),
            early_data: self.early_data,
        }
    }

    /// Whether there is no TLS.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Bytes of a flight; `None` after the last.
    pub fn size(&self, flight: u8) -> Option<u64> {
        self.sizes.get(usize::from(flight)).copied()
    }

    /// Whether the client may send data once it has this flight of the server.
    pub fn opens(&self, flight: u8) -> bool {
        usize::from(flight) + 2 >= self.sizes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flights_are_round_trips() {
        let flights = |version, resumption| {
            let flights = Flights::new(version, resumption, Bytes::from_bytes(500), Bytes::from_bytes(3000));
            let opening = (1..).step_by(2).find(|flight| flights.opens(*flight));
            (flights.sizes.len(), opening, flights.early_data)
        };
        use Resumption::{EarlyData, Off, Session};
        assert_eq!(flights(Version::Tls12, Off), (4, Some(3), false));
        assert_eq!(flights(Version::Tls12, Session), (3, Some(1), false));
        assert_eq!(flights(Version::Tls13, Off), (3, Some(1), false));
        assert_eq!(flights(Version::Tls13, EarlyData), (3, Some(1), true));
    }
}

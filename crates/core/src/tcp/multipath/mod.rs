//! Multipath TCP: one connection over several paths. RFC 8684.
//!
//! Each path has a subflow, which is a TCP connection of its own: handshake, window, RTT, loss recovery and timers are a
//! [`Sender`](super::Sender)'s and a [`Receiver`](super::Receiver)'s. Above them is the data level, with numbers of its
//! own for the bytes of the application: [`DataSender`] decides which subflow carries which bytes, [`DataReceiver`] puts
//! them in order. The option DSS of each segment says which bytes of the connection its payload is (the mapping), and of
//! each ACK which byte of the connection is expected next (the data ACK).
//!
//! **The receive window** belongs to the connection: it counts from the data ACK, and each subflow advertises the whole
//! of it. Bytes that wait for others on a slower path take part of it, so a small window blocks the faster path: at most
//! one window passes in a round trip of the slower path (receive-buffer blocking).
//!
//! **Further subflows** are opened by the client when the connection is fully established: once it has received a
//! segment with DSS, two round trips after its SYN. The server may send over a subflow after the ACK of its handshake,
//! the client after the ACK that follows: RFC 8684 (3.2).
//!
//! **Repair.** A subflow repairs its losses itself. After a timeout it gets nothing new until an ACK of new data
//! arrives, and its outstanding data is also sent on another subflow, if there is one (`reinject`).
//!
//! Left out: falling back to TCP, checksums, addresses that are announced or withdrawn, closing (DATA_FIN), data in both
//! directions, the server's ACK that completes the handshake of a subflow on which only the server sends.

pub mod keys;
pub mod receiver;
mod repetition;
pub mod scheduler;
pub mod sender;
mod subflow;

pub use receiver::DataReceiver;
pub use sender::DataSender;

use super::Config as TcpConfig;
use crate::packet::mptcp::Mptcp;
use crate::registry::parameters;
use crate::units::Bytes;
use keys::{Keys, first_data};

parameters! {
    /// A connection over several paths: Multipath TCP, RFC 8684.
    pub struct Config {
        /// Which path new data takes.
        pub scheduler: scheduler::Config,
        /// Whether data outstanding on a path is also sent on another path after a timeout.
        pub reinject: bool = true,
        /// Whether the fastest path, while the receive window blocks it, sends the bytes that the window waits for, and
        /// the window of the path that has them is halved, at most once per round trip: Raiciu et al., NSDI 2012.
        pub opportunistic: bool,
    }
}

/// The configuration of a subflow: DSS takes part of each segment, and the window is not the subflow's.
pub fn subflow_config(config: &TcpConfig) -> TcpConfig {
    let mss = config.mss.as_u64().saturating_sub(Mptcp::MAPPED_OCTETS.into());
    TcpConfig {
        mss: Bytes::from_bytes(mss),
        receive_buffer: config.receive_buffer.max(config.receive_buffer_max.unwrap_or_default()),
        receive_buffer_max: None,
        ..config.clone()
    }
}

/// Configuration and keys of a connection, known to both endpoints.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Both endpoints, without regard to paths.
    pub tcp: TcpConfig,
    /// The paths' keys.
    pub config: Config,
    /// For each path whether it is used only if no other works; the first path opens the connection.
    pub backup: Vec<bool>,
    /// Keys of both endpoints.
    pub keys: Keys,
    /// Whether data goes from the client to the server.
    pub is_upload: bool,
}

impl Plan {
    /// Data sequence number on the wire of the first byte.
    fn first_byte(&self) -> u64 {
        first_data(if self.is_upload { self.keys.client } else { self.keys.server })
    }

    /// The same of the other direction, in which no data goes.
    fn first_byte_back(&self) -> u64 {
        first_data(if self.is_upload { self.keys.server } else { self.keys.client })
    }

    /// The option of a segment that opens the subflow on this path: SYN, SYN-ACK or ACK.
    fn opening(&self, path: usize, is_syn: bool, is_ack: bool) -> Mptcp {
        let (keys, address) = (&self.keys, path as u8);
        let [client, server] = keys.nonces(path);
        let backup = self.backup[path];
        match (path, is_syn, is_ack) {
            (0, true, false) => Mptcp::Capable,
            (0, true, true) => Mptcp::CapableKeys { own: keys.server, peer: None },
            (0, false, _) => Mptcp::CapableKeys { own: keys.client, peer: Some(keys.server) },
            (_, true, false) => {
                Mptcp::JoinSyn { backup, address, token: keys::token(keys.server), nonce: client }
            }
            (_, true, true) => {
                Mptcp::JoinSynAck { backup, address: 0, hmac: keys.server_code(path), nonce: server }
            }
            (_, false, _) => Mptcp::JoinAck(keys.client_code(path)),
        }
    }
}

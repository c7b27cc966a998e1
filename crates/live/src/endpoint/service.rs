//! Applications of the endpoint: the services by port, and the bytes that they send.

use airpath_core::tcp::Connection;
use airpath_core::time::Instant;
use serde_json::{Value, json};

/// What is done with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Returns received data: RFC 862.
    Echo,
    /// Discards received data: RFC 863.
    Discard,
    /// Octets without end, whatever comes: RFC 864, with our pattern.
    Generate,
    /// What flow 0 sends, and both directions are closed with its last octet, as by a server that does not linger.
    Serve,
    /// Sends flow 0's data; discards received data until the other end closes.
    Data,
}

impl Service {
    /// The service at a local port: 7, 9, 19, 80, and every unprivileged port. All others are closed.
    pub fn at(port: u16) -> Option<Self> {
        match port {
            7 => Some(Self::Echo),
            9 => Some(Self::Discard),
            19 => Some(Self::Generate),
            80 => Some(Self::Serve),
            1024.. => Some(Self::Data),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Discard => "discard",
            Self::Generate => "chargen",
            Self::Serve => "serve",
            Self::Data => "data",
        }
    }
}

/// The pattern repeats after this many octets: a prime, so that no segment, page or buffer is a multiple of it.
const PERIOD: u64 = 65_521;

/// The byte at `offset` of the generated stream.
pub fn octet(offset: u64) -> u8 {
    let at = offset % PERIOD;
    (at * 31 + (at >> 7)) as u8
}

/// Octets moved at a time.
const STEP: u64 = 16 << 10;

/// An application on a connection of the endpoint.
#[derive(Debug)]
pub struct Application {
    service: Service,
    /// Octets that it has to send; `u64::MAX` without end.
    size: u64,
    written: u64,
    read: u64,
    /// FNV-1a, 64 bit, of what was read.
    digest: u64,
    /// Received data that has not been returned yet.
    echoes: Vec<u8>,
    /// Before this it reads nothing.
    reads_from: Instant,
    /// Reused.
    buffer: Vec<u8>,
}

impl Application {
    /// An application that sends `size` octets if that is its service, and reads nothing before `reads_from`.
    pub fn new(service: Service, size: u64, reads_from: Instant) -> Self {
        let size = match service {
            Service::Echo | Service::Discard => 0,
            Service::Generate => u64::MAX,
            Service::Serve | Service::Data => size,
        };
        Self {
            service,
            size,
            written: 0,
            read: 0,
            digest: FNV_OFFSET,
            echoes: Vec::new(),
            reads_from,
            buffer: Vec::new(),
        }
    }

    /// The time of its next read, if there is data to read.
    pub fn deadline(&self, connection: &Connection) -> Option<Instant> {
        (connection.readable() > 0).then_some(self.reads_from)
    }

    /// Reads and writes as much as can be now.
    pub fn work(&mut self, now: Instant, connection: &mut Connection) {
        loop {
            let (read, written) = (self.read, self.written);
            if now >= self.reads_from && self.echoes.is_empty() {
                self.take(now, connection);
            }
            self.give(now, connection);
            if (read, written) == (self.read, self.written) {
                break;
            }
        }
        self.close_if_done(now, connection);
    }

    fn take(&mut self, now: Instant, connection: &mut Connection) {
        self.buffer.clear();
        connection.read(now, STEP, &mut self.buffer);
        self.read += self.buffer.len() as u64;
        for octet in &self.buffer {
            self.digest = (self.digest ^ u64::from(*octet)).wrapping_mul(FNV_PRIME);
        }
        if self.service == Service::Echo {
            self.echoes.extend_from_slice(&self.buffer);
        }
    }

    fn give(&mut self, now: Instant, connection: &mut Connection) {
        if self.service == Service::Echo {
            let count = connection.write(now, &self.echoes);
            self.echoes.drain(..count);
            self.written += count as u64;
            return;
        }
        let stops = self.size == u64::MAX && connection.is_read_out();
        let count = (self.size - self.written).min(connection.writable()).min(STEP);
        if count == 0 || stops || connection.is_shut() {
            return;
        }
        self.buffer.clear();
        self.buffer.extend((self.written..self.written + count).map(octet));
        self.written += connection.write(now, &self.buffer) as u64;
    }

    fn close_if_done(&mut self, now: Instant, connection: &mut Connection) {
        if connection.is_shut() || connection.duplex().is_none() {
            return;
        }
        let all_written = self.written == self.size;
        match self.service {
            Service::Echo if connection.is_read_out() && self.echoes.is_empty() => connection.shutdown(now),
            Service::Discard if connection.is_read_out() => connection.shutdown(now),
            Service::Serve if all_written => connection.close(now),
            Service::Data if all_written => connection.shutdown(now),
            Service::Generate | Service::Serve | Service::Data
                if self.size == u64::MAX && connection.is_read_out() =>
            {
                connection.shutdown(now);
            }
            _ => {}
        }
    }

    /// What it has done.
    pub fn report(&self) -> Value {
        json!({
            "service": self.service.name(),
            "octets_written": self.written,
            "octets_read": self.read,
            "read_fnv1a": format!("{:016x}", self.digest),
        })
    }
}

/// FNV-1a with 64 bit: offset basis and prime, draft-eastlake-fnv (5).
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_ports_and_those_without_privilege_are_open() {
        let open: Vec<u16> = (0..1024).filter(|port| Service::at(*port).is_some()).collect();
        assert_eq!(open, [7, 9, 19, 80]);
        assert_eq!(Service::at(5001), Some(Service::Data));
    }

    #[test]
    fn no_shift_of_the_pattern_is_the_pattern() {
        let first: Vec<u8> = (0..3000).map(octet).collect();
        for shift in [1, 2, 128, 256, 512, 1000, 1448, 1460, 4096, 65_536] {
            let other: Vec<u8> = (shift..shift + 3000).map(octet).collect();
            assert_ne!(first, other, "shifted by {shift}");
        }
    }
}

//! Ports of an element, and targets of packets.

use crate::packet::Dir;

/// A port of an element. Even ports lead towards servers, odd ports towards UEs; an inline element has the ports
/// [`Port::UP`] and [`Port::DOWN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port(pub u16);

impl Port {
    /// Towards the server.
    pub const UP: Self = Self(0);
    /// Towards the UE.
    pub const DOWN: Self = Self(1);

    /// Direction of a packet that arrives at this port.
    #[inline(always)]
    pub const fn dir(self) -> Dir {
        if self.0 & 1 == 0 { Dir::Downlink } else { Dir::Uplink }
    }

    /// Egress port in this direction of the pair with this index; an inline element has pair 0.
    #[inline(always)]
    pub fn of_pair(number: u16, dir: Dir) -> Self {
        Self(2 * number + Self::from(dir).0)
    }

    /// The other port of its pair: the egress port of a packet that arrived at this one and is passed on.
    #[inline(always)]
    pub const fn through(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// Egress port of an inline element in this direction.
impl From<Dir> for Port {
    #[inline(always)]
    fn from(dir: Dir) -> Self {
        match dir {
            Dir::Downlink => Self::DOWN,
            Dir::Uplink => Self::UP,
        }
    }
}

/// Destination of a packet that leaves an element by a port: a node, and its ingress port there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target(u32);

impl Target {
    /// Port of a node.
    pub const fn new(node: u16, port: Port) -> Self {
        Self(node as u32 | (port.0 as u32) << 16)
    }

    /// Index of no node: out of the path.
    pub const OUT: u16 = u16::MAX;

    /// Out of the path by a gate, whose node has this port.
    pub const fn out(gate: u16, port: Port) -> Self {
        Self::new(Self::OUT, Port(2 * gate + (port.through().0 & 1)))
    }

    /// Index of the node. A path has fewer nodes than the index of a target outside.
    #[inline(always)]
    pub const fn node(self) -> u16 {
        (self.0 & 0xffff) as u16
    }

    #[inline(always)]
    pub const fn port(self) -> Port {
        Port((self.0 >> 16) as u16)
    }
}

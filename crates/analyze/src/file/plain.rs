//! Input without decoders of compressed captures: such a file is refused with its format.

use std::io::{self, Read};

/// Octets of a capture.
#[derive(Debug)]
pub(super) struct Input<R>(R);

impl<R: Read> Input<R> {
    /// Takes a reader as it is.
    #[allow(clippy::unnecessary_wraps)]
    pub fn open(reader: R) -> io::Result<Self> {
        Ok(Self(reader))
    }

    /// Always `None`.
    #[allow(clippy::unused_self)]
    pub fn compression(&self) -> Option<&'static str> {
        None
    }

    /// Always `None`.
    #[allow(clippy::unused_self)]
    pub fn take_damage(&mut self) -> Option<String> {
        None
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

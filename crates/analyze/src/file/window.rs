//! A stretch of a file in memory, which moves forward.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Window<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Place in the file of `start`.
    offset: u64,
    at_end: bool,
}

impl<R: Read> Window<R> {
    pub fn new(reader: R) -> Self {
        Self { reader, buffer: vec![0; CHUNK], start: 0, end: 0, offset: 0, at_end: false }
    }

    pub fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Place in the file of the first byte.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// All that is in memory, at least `len` bytes unless the file ends before.
    pub fn fill(&mut self, len: usize) -> io::Result<&[u8]> {
        if self.end - self.start < len && !self.at_end {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.buffer.len() < len {
                self.buffer.resize(len.next_multiple_of(CHUNK), 0);
            }
            while self.end < len && !self.at_end {
                match self.reader.read(&mut self.buffer[self.end..]) {
                    Ok(0) => self.at_end = true,
                    Ok(read) => self.end += read,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Skips this many bytes, or all that are left.
    pub fn advance(&mut self, len: usize) {
        let len = len.min(self.end - self.start);
        self.start += len;
        self.offset += len as u64;
    }

    /// Skips this many bytes; returns where their part `data` lies in the buffer until `fill` is called.
    pub fn take(&mut self, len: usize, data: Range<usize>) -> Range<usize> {
        let taken = self.start + data.start..self.start + data.end;
        self.advance(len);
        taken
    }

    /// Bytes that [`take`](Self::take) has consumed.
    pub fn at(&self, taken: Range<usize>) -> &[u8] {
        &self.buffer[taken]
    }
}

//! Captures compressed as a whole: gzip (RFC 1952) and Zstandard (RFC 8878), of one member or several.
//!
//! The stream ends where it is damaged, cut off or has an excessive compression ratio; the part before is read.

use std::io::{self, BufRead, BufReader, Chain, Cursor, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// So much is uncompressed whatever the file's size.
const FREE_BYTES: u64 = 1 << 30;
/// Beyond that, maximum ratio of output to octets read: deflate reaches 1032, Zstandard 32768.
const MOST_EXPANSION: u64 = 1000;
const BOMB: &str = "it expands to more than a thousand times its size";

/// Octets of a capture, uncompressed.
pub(super) struct Input<R: Read> {
    stream: Stream<Begun<R>>,
    /// Octets given out.
    given: u64,
    /// Why the compressed stream ended early.
    damage: Option<String>,
}

/// The bytes read to recognise the compression, and the rest.
type Begun<R> = Chain<Cursor<Vec<u8>>, R>;

enum Stream<R: Read> {
    Plain(R),
    Gzip(Box<MultiGzDecoder<BufReader<Watched<R>>>>),
    Zstd(Box<Zstd<BufReader<Watched<R>>>>),
}

/// Keeps an error of the disk apart from those of the decoder, and counts octets.
struct Watched<R> {
    reader: R,
    read: u64,
    failure: Option<io::Error>,
}

/// Consecutive Zstandard frames, skippable ones skipped.
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    is_within: bool,
}

impl<R: Read> Input<R> {
    /// Recognises the compression by the first octets (RFC 1952 2.3.1, RFC 8878 3.1.1 and 3.1.2).
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn open(mut reader: R) -> io::Result<Self> {
        let mut begin = Vec::new();
        while begin.len() < 4 {
            match reader.by_ref().take(4 - begin.len() as u64).read_to_end(&mut begin) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        let kind = begin.first_chunk::<4>().copied();
        let begun = Cursor::new(begin).chain(reader);
        let watched = |whole| BufReader::new(Watched { reader: whole, read: 0, failure: None });
        let stream = match kind {
            Some([0x1F, 0x8B, 8, _]) => Stream::Gzip(Box::new(MultiGzDecoder::new(watched(begun)))),
            Some([0x28, 0xB5, 0x2F, 0xFD] | [0x50..=0x5F, 0x2A, 0x4D, 0x18]) => {
                let (source, decoder) = (watched(begun), FrameDecoder::new());
                Stream::Zstd(Box::new(Zstd { source, decoder, is_within: false }))
            }
            _ => Stream::Plain(begun),
        };
        Ok(Self { stream, given: 0, damage: None })
    }

    /// `gzip` or `zstd`.
    pub fn compression(&self) -> Option<&'static str> {
        match self.stream {
            Stream::Plain(_) => None,
            Stream::Gzip(_) => Some("gzip"),
            Stream::Zstd(_) => Some("zstd"),
        }
    }

    pub fn take_damage(&mut self) -> Option<String> {
        self.damage.take()
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.damage.is_some() {
            return Ok(0);
        }
        let (found, watched) = match &mut self.stream {
            Stream::Plain(reader) => return reader.read(out),
            Stream::Gzip(decoder) => (decoder.read(out), decoder.get_mut().get_mut()),
            Stream::Zstd(decoder) => (decoder.read(out), decoder.source.get_mut()),
        };
        match found {
            Ok(len) => {
                self.given += len as u64;
                if self.given > FREE_BYTES.max(MOST_EXPANSION * watched.read) {
                    self.damage = Some(BOMB.to_owned());
                    return Ok(0);
                }
                Ok(len)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            Err(error) => match watched.failure.take() {
                Some(failure) => Err(failure),
                None => {
                    self.damage = Some(error.to_string());
                    Ok(0)
                }
            },
        }
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.reader.read(out) {
            Ok(len) => {
                self.read += len as u64;
                Ok(len)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.failure = Some(error);
                Err(kind.into())
            }
        }
    }
}

impl<R: BufRead> Zstd<R> {
    /// Begins the next frame; whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    self.is_within = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = io::copy(&mut (&mut self.source).take(length.into()), &mut io::sink())?;
                    if skipped < u64::from(length) {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_within && self.decoder.can_collect() > 0 {
                return self.decoder.read(out);
            }
            if !self.is_within || self.decoder.is_finished() {
                self.is_within = false;
                if !self.begin()? {
                    return Ok(0);
                }
                continue;
            }
            self.decoder
                .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                .map_err(io::Error::other)?;
        }
    }
}

impl<R: Read> std::fmt::Debug for Input<R> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "Input({:?})", self.compression())
    }
}

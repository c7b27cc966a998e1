//! What the driver has to say, written by a thread of its own: the driver itself never waits.
//!
//! Trace and capture are buffered in memory if their reader is slow, up to a bound; further records are dropped and
//! counted.

use super::message::{self, kind};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, Table};
use airpath_core::wire::pcapng;
use serde_json::{Map, Value, json};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Trace and capture are written this often.
pub const FLUSH: Duration = Duration::from_millis(100);
/// Records may take this much memory while they wait.
const MOST_BYTES: usize = 256 << 20;

pub enum Record {
    Status(Value),
    /// Events up to a moment.
    Trace(Instant, Vec<(Instant, Event)>),
    Capture(Vec<u8>),
    /// What the kernel said at a moment of the sending end of a flow.
    Sample(Instant, Event),
}

#[derive(Clone)]
pub struct Outbox {
    queue: Sender<Record>,
    waiting: Arc<AtomicUsize>,
    lost: Arc<AtomicU64>,
}

impl Outbox {
    /// Hands a record over; it is left out if too much is waiting already.
    pub fn put(&self, record: Record) {
        let size = record.size();
        if size > 0 && self.waiting.load(Ordering::Relaxed) + size > MOST_BYTES {
            self.lost.fetch_add(record.count(), Ordering::Relaxed);
            return;
        }
        self.waiting.fetch_add(size, Ordering::Relaxed);
        // Fails only if the writer has ended because its reader has gone: then the link ends too.
        let _ = self.queue.send(record);
    }

    /// Events and packets that were left out so far.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Record {
    /// Memory that matters: statuses are few and small.
    fn size(&self) -> usize {
        match self {
            Self::Status(_) => 0,
            Self::Trace(_, events) => events.len() * size_of::<(Instant, Event)>(),
            Self::Capture(bytes) => bytes.len(),
            Self::Sample(..) => std::mem::size_of::<(Instant, Event)>(),
        }
    }

    /// How many events or packets are in it.
    fn count(&self) -> u64 {
        match self {
            Self::Status(_) => 0,
            Self::Trace(_, events) => events.len() as u64,
            Self::Capture(bytes) => pcapng::packets_in(bytes),
            Self::Sample(..) => 1,
        }
    }
}

/// Starts the writer. It ends when every outbox is gone, and gives the stream back.
pub fn start(stream: UnixStream) -> (Outbox, JoinHandle<UnixStream>) {
    let (queue, records) = channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let (samples, events, capture) = (Vec::new(), Vec::new(), Vec::new());
    let next = Instant::ZERO + FLUSH;
    let writer = Writer { stream, waiting: waiting.clone(), samples, events, capture, next };
    let thread = std::thread::spawn(move || writer.run(&records));
    (Outbox { queue, waiting, lost: Arc::default() }, thread)
}

struct Writer {
    stream: UnixStream,
    waiting: Arc<AtomicUsize>,
    /// Samples that wait for the events of their time.
    samples: Vec<(Instant, Event)>,
    /// What is to be written together.
    events: Vec<(Instant, Event)>,
    capture: Vec<u8>,
    /// When it is.
    next: Instant,
}

impl Writer {
    fn run(mut self, records: &Receiver<Record>) -> UnixStream {
        let mut is_read = true;
        while let Ok(record) = records.recv() {
            let size = record.size();
            if is_read {
                is_read = self.write(record).is_ok();
            }
            self.waiting.fetch_sub(size, Ordering::Relaxed);
        }
        if is_read {
            // The reader may have gone: there is nobody to tell.
            let _ = self.write_kept();
        }
        self.stream
    }

    fn write(&mut self, record: Record) -> std::io::Result<()> {
        match record {
            Record::Status(status) => message::write_json(&mut self.stream, kind::STATUS, &status),
            Record::Capture(bytes) => {
                self.capture.extend_from_slice(&bytes);
                Ok(())
            }
            Record::Sample(at, event) => {
                self.samples.push((at, event));
                Ok(())
            }
            Record::Trace(until, events) => {
                self.events.extend(events);
                // Samples are taken by another thread: they come a little out of turn.
                let ready = self.samples.partition_point(|(at, _)| *at <= until);
                self.events.extend(self.samples.drain(..ready));
                if until < self.next {
                    return Ok(());
                }
                self.next = until + FLUSH;
                self.write_kept()
            }
        }
    }

    fn write_kept(&mut self) -> std::io::Result<()> {
        if !self.events.is_empty() {
            self.write_trace()?;
            self.events.clear();
        }
        if !self.capture.is_empty() {
            message::write(&mut self.stream, kind::CAPTURE, &[&self.capture])?;
            self.capture.clear();
        }
        Ok(())
    }

    fn write_trace(&mut self) -> std::io::Result<()> {
        let (mut header, mut data) = (Map::new(), Vec::new());
        for table in Table::from_events(&self.events) {
            let mut columns = vec![json!(["time_ns", "u64"])];
            numbers(&table.time_ns, &mut data);
            for (name, column) in table.named() {
                if column.words.is_empty() {
                    columns.push(json!([name, "u64"]));
                    numbers(&column.numbers, &mut data);
                } else {
                    columns.push(json!([name, column.words]));
                    data.extend_from_slice(&column.codes);
                }
            }
            header.insert(
                table.kind.name().to_owned(),
                json!({ "rows": table.time_ns.len(), "columns": columns }),
            );
        }
        let header = serde_json::to_vec(&header)?;
        let length = (header.len() as u32).to_le_bytes();
        message::write(&mut self.stream, kind::TRACE, &[&length, &header, &data])
    }
}

fn numbers(column: &[u64], data: &mut Vec<u8>) {
    data.reserve(8 * column.len());
    for number in column {
        data.extend_from_slice(&number.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airpath_core::wire::PcapngWriter;

    #[test]
    fn what_there_is_no_memory_for_is_counted_by_events_and_packets() {
        let (queue, records) = channel();
        let outbox = Outbox { queue, waiting: Arc::new(MOST_BYTES.into()), lost: Arc::default() };
        let mut capture = PcapngWriter::new(&["server", "ue"]);
        for interface in [0, 1, 1] {
            capture.packet(interface, Instant::ZERO, &[0x45; 40], 1500, 1);
        }
        outbox.put(Record::Capture(capture.take()));
        assert_eq!(outbox.lost(), 3);
        let event = Event::RttSample { ue: 0, flow: 0, rtt_us: 1 };
        outbox.put(Record::Trace(Instant::ZERO, vec![(Instant::ZERO, event); 7]));
        assert_eq!(outbox.lost(), 10);
        outbox.put(Record::Status(Value::Null));
        assert_eq!((outbox.lost(), records.try_iter().count()), (10, 1), "a status is never left out");
    }
}

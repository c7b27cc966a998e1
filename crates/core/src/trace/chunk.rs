//! Events as chunks of octets that a browser reads without copying. `airpath/studio/chunks.py` describes the layout and
//! makes chunks from files; simulated events are written from columns directly into a chunk.

use super::Table;
use super::schema::is_counting;

/// The columns begin at a multiple of this, octets.
const ALIGNMENT: usize = 8;
/// The column of times.
const TIME: &str = "time_ns";
/// Types of numbers, with the octets that they have.
const TYPES: [(&str, usize); 3] = [("u1", 1), ("u2", 2), ("u4", 4)];

/// Values of a column: numbers, or codes into a list of words.
pub enum Values<'a> {
    /// Numbers.
    Numbers(&'a [u64]),
    /// Codes, and the words that they stand for.
    Words(&'a [u8], Vec<&'a str>),
}

impl Values<'_> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Words(codes, _) => codes.len(),
        }
    }
}

/// A chunk that is being written.
#[derive(Default)]
pub struct Chunk {
    header: String,
    columns: Vec<u8>,
    differences: bool,
}

impl Chunk {
    /// An empty chunk, with `differences` for deflating.
    pub fn new(differences: bool) -> Self {
        Self { differences, ..Self::default() }
    }

    /// Adds the events of a kind.
    pub fn add<'a>(&mut self, kind: &str, rows: usize, columns: impl Iterator<Item = (&'a str, Values<'a>)>) {
        let described: Vec<String> = columns.map(|(name, values)| self.put(name, &values)).collect();
        let comma = if self.header.is_empty() { "" } else { "," };
        self.header +=
            &format!("{comma}{}:{{\"rows\":{rows},\"columns\":[{}]}}", text(kind), described.join(","));
    }

    /// Adds a table.
    pub fn add_table(&mut self, table: &Table) {
        let time = (TIME, Values::Numbers(&table.time_ns));
        let others = table.named().map(|(name, column)| match column.words.is_empty() {
            true => (name, Values::Numbers(&column.numbers)),
            false => (name, Values::Words(&column.codes, column.words.clone())),
        });
        self.add(table.kind.name(), table.time_ns.len(), std::iter::once(time).chain(others));
    }

    /// The chunk's octets.
    pub fn finish(self) -> Vec<u8> {
        let mut header = format!("{{{}}}", self.header);
        let padding = (4 + header.len()).next_multiple_of(ALIGNMENT) - 4 - header.len();
        header.extend(std::iter::repeat_n(' ', padding));
        let mut chunk = Vec::with_capacity(4 + header.len() + self.columns.len());
        chunk.extend((header.len() as u32).to_le_bytes());
        chunk.extend(header.as_bytes());
        chunk.extend(self.columns);
        chunk
    }

    /// Writes a column, and returns its description.
    fn put(&mut self, name: &str, values: &Values) -> String {
        let (code, offset, first) = match values {
            Values::Words(codes, words) => {
                let words: Vec<String> = words.iter().map(|word| text(word)).collect();
                let offset = self.columns.len();
                self.columns.extend(*codes);
                (format!("[{}]", words.join(",")), offset, None)
            }
            Values::Numbers(numbers) => self.put_numbers(name, numbers),
        };
        let first = first.map(|first| format!(",{first}")).unwrap_or_default();
        format!("[{},{code},{offset}{first}]", text(name))
    }

    /// Writes numbers in the narrowest type; records its name, their offset, and the first one if they are differences.
    fn put_numbers(&mut self, name: &str, numbers: &[u64]) -> (String, usize, Option<u64>) {
        let narrow = |most: u64| TYPES.into_iter().find(|(_, octets)| most >> (8 * octets) == 0);
        let most = numbers.iter().copied().max().unwrap_or(0);
        if let (true, Some(first)) = (self.differences, numbers.first().copied()) {
            let apart = || {
                let before = std::iter::once(&first).chain(numbers);
                numbers.iter().zip(before).map(|(number, before)| number.wrapping_sub(*before))
            };
            let fits = match name {
                TIME => apart().all(|each| each >> 32 == 0).then_some(TYPES[2]),
                _ if is_counting(name) => narrow(most),
                _ => None,
            };
            if let Some((code, octets)) = fits {
                return (format!("\"+{code}\""), self.put_whole(octets, apart()), Some(first));
            }
        }
        match narrow(most).filter(|_| name != TIME) {
            Some((code, octets)) => {
                (format!("\"{code}\""), self.put_whole(octets, numbers.iter().copied()), None)
            }
            None => {
                let offset = self.align(8);
                self.columns.extend(numbers.iter().flat_map(|number| (*number as f64).to_le_bytes()));
                ("\"f8\"".to_owned(), offset, None)
            }
        }
    }

    /// Writes the lower octets of numbers, and returns their offset.
    fn put_whole(&mut self, octets: usize, numbers: impl Iterator<Item = u64>) -> usize {
        let offset = self.align(octets);
        match octets {
            1 => self.columns.extend(numbers.map(|number| number as u8)),
            2 => self.columns.extend(numbers.flat_map(|number| (number as u16).to_le_bytes())),
            _ => self.columns.extend(numbers.flat_map(|number| (number as u32).to_le_bytes())),
        }
        offset
    }

    fn align(&mut self, octets: usize) -> usize {
        self.columns.resize(self.columns.len().next_multiple_of(octets), 0);
        self.columns.len()
    }
}

/// A text in JSON.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

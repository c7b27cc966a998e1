//! Checks the limits of buffers and bearers against the packets of the flows: a limit below one packet is refused. A
//! limit of few packets, and no limit at all, cause a remark.

use super::Scenario;
use crate::app::Carrier;
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::queue;
use crate::radio;

/// With room for this many packets, downloads without any variation of the delay are within 15 % of Linux's.
const FEW_PACKETS: u64 = 5;

impl Scenario {
    /// Refuses a buffer or a bearer that can never hold a packet of some flow. A link for packets from outside has no
    /// known flows.
    pub(super) fn check_buffers(&self) -> Result<(), ScenarioError> {
        for dir in Dir::BOTH {
            let Some(largest) = self.largest_packet(dir) else { continue };
            for (place, queue) in self.bearer_queues(dir).into_iter().chain(self.queues_outside_cells(dir)) {
                let Some(limit) = queue.limits().1.filter(|limit| limit.as_u64() < largest) else {
                    continue;
                };
                let key = format!("{place}.{}.bytes", queue.name());
                let message = format!(
                    "a buffer of {limit} has no room for a packet of {largest} B, which a flow sends"
                );
                let hint = format!("write at least \"{largest} B\", or let the flow send smaller packets");
                return Err(ScenarioError::new(key, message, hint));
            }
            for (key, cell) in self.cells() {
                let Some(limit) = cell.largest_sdu(dir).filter(|limit| u64::from(*limit) < largest) else {
                    continue;
                };
                let key = format!("{key}.{}.{}.rlc", cell.name(), dir.name());
                let message = format!(
                    "PDCP takes packets of {limit} B at most, and a flow sends packets of {largest} B"
                );
                return Err(ScenarioError::new(key, message, "let the flow send smaller packets (tcp.mss)"));
            }
        }
        Ok(())
    }

    /// Remarks on buffers for flows whose window can fill them: those without a limit in front of the radio, and those of so
    /// few packets that results depend on times of microseconds (docs/models/linux-tcp.md, "Buffers of a few packets").
    pub(super) fn buffer_remarks(&self) -> Vec<ScenarioError> {
        let mut remarks = Vec::new();
        for dir in Dir::BOTH {
            let fills =
                |flow: &&super::Flow| flow.direction == dir && flow.app.carrier() != Carrier::Datagrams;
            let Some(largest) =
                self.largest_packet(dir).filter(|_| self.flow.iter().any(|flow| fills(&flow)))
            else {
                continue;
            };
            let bearers = self.bearer_queues(dir);
            for (place, queue) in bearers.iter().filter(|(_, queue)| queue.is_unlimited()) {
                let key = format!("{place}.{}", queue.name());
                let hint = "write packets or bytes for a limit";
                let message = "the buffer has no limit: only the senders' windows bound its delay";
                remarks.push(ScenarioError::new(key, message, hint));
            }
            for (place, queue) in bearers.into_iter().chain(self.queues_outside_cells(dir)) {
                let (packets, bytes) = queue.limits();
                let room =
                    packets.map(u64::from).into_iter().chain(bytes.map(|bytes| bytes.as_u64() / largest));
                let Some(room) = room.min().filter(|room| *room < FEW_PACKETS) else { continue };
                let key = format!("{place}.{}", queue.name());
                let message = format!(
                    "room for {room} packets: ACKs that arrive just when packets leave find room that senders on real \
                     hosts seldom find, so goodput may be several times that of real hosts"
                );
                let hint = format!("let the delay vary, or write room for {FEW_PACKETS} packets or more");
                remarks.push(ScenarioError::new(key, message, hint));
            }
        }
        remarks
    }

    /// The queues of wired links and of split bearers, each with its place in the scenario; a link of infinite rate has none.
    fn queues_outside_cells(&self, dir: Dir) -> Vec<(String, &queue::Config)> {
        let own = self.wires().into_iter().filter_map(|(key, link)| {
            let (place, rate, queue) = match (dir, &link.uplink) {
                (Dir::Uplink, Some(own)) => (format!("{key}.uplink.queue"), own.rate, &own.queue),
                _ => (format!("{key}.queue"), link.rate, &link.queue),
            };
            rate.map(|_| (place, queue))
        });
        own.chain(self.split_queues(dir)).collect()
    }

    /// The queues of the cells' bearers, each with its place in the scenario.
    fn bearer_queues(&self, dir: Dir) -> Vec<(String, &queue::Config)> {
        self.cells().into_iter().flat_map(|(key, cell)| queues_of(&key, cell, dir)).collect()
    }

    /// IP bytes of the largest packet that a flow sends in this direction, ACKs included; `None` without flows.
    fn largest_packet(&self, dir: Dir) -> Option<u64> {
        let of_flow = |flow: &super::Flow| {
            let tcp = flow.tcp.as_ref().unwrap_or(&self.tcp);
            let headers = u64::from(tcp.header_bytes());
            let has_data = flow.direction == dir;
            match (flow.app.carrier(), flow.app.datagram_bytes()) {
                (Carrier::Datagrams, sizes) => sizes[usize::from(!has_data)].as_u64(),
                (Carrier::Tcp | Carrier::TcpEach, _) if has_data => {
                    headers
                        + flow.app.size().map_or(tcp.payload_bytes(), |size| size.min(tcp.payload_bytes()))
                }
                (Carrier::TcpBothWays, _) if has_data => headers + tcp.payload_bytes(),
                _ => headers,
            }
        };
        self.flow.iter().map(of_flow).max()
    }
}

/// The queues of a cell's bearers, each with its place in the scenario.
fn queues_of<'a>(key: &str, cell: &'a radio::Config, dir: Dir) -> Vec<(String, &'a queue::Config)> {
    let own = format!("{key}.{}", cell.name());
    // In front of the cell's own stand those of its traffic classes.
    let classes = match cell {
        radio::Config::Dch(dch) => {
            let with_own =
                dch.qos.iter().filter(|(_, class)| dir.pick(&class.downlink, &class.uplink).is_some());
            with_own.map(|(class, _)| format!("{own}.qos.{}", class.name())).collect()
        }
        _ => Vec::new(),
    };
    let places = classes.into_iter().chain([own]).map(|place| format!("{place}.{}.queue", dir.name()));
    places.zip(cell.queues(dir)).collect()
}

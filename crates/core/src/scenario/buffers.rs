//! Limits of buffers against what flows send: one below a packet is refused, and none at all is remarked upon.

use super::Scenario;
use crate::app::Carrier;
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::queue;
use crate::radio;

/// Where as many packets may wait, downloads without any variation of the delay are within 15 % of Linux's.
const FEWEST_WAITING: u32 = 5;

impl Scenario {
    /// Refuses a buffer in which a packet of a flow never finds room. A link for packets from outside knows of none.
    pub(super) fn check_buffers(&self) -> Result<(), ScenarioError> {
        for dir in Dir::BOTH {
            let Some(largest) = self.largest_packet(dir) else { continue };
            let wired = self.wired.half(dir);
            let own_uplink = self.wired.uplink.is_some() && dir == Dir::Uplink;
            let at = if own_uplink { "wired.uplink.queue" } else { "wired.queue" };
            let wired = wired.rate.map(|_| (at.to_owned(), &wired.queue));
            for (place, queue) in self.bearer_queues(dir).into_iter().chain(wired) {
                let Some(limit) = queue.byte_limit().filter(|limit| limit.as_u64() < largest) else {
                    continue;
                };
                let key = format!("{place}.{}.bytes", queue.name());
                let message = format!(
                    "a buffer of {limit} has no room for a packet of {largest} B, which a flow sends"
                );
                let hint = format!("write at least \"{largest} B\", or let the flow send smaller packets");
                return Err(ScenarioError::new(key, message, hint));
            }
        }
        Ok(())
    }

    /// Remarks on buffers in front of the radio, for flows whose window can fill them: those without a limit, and those of so
    /// few packets that results depend on times of microseconds (docs/models/linux-tcp.md, "Buffers of a few packets").
    pub(super) fn buffer_remarks(&self) -> Vec<ScenarioError> {
        let mut remarks = Vec::new();
        for dir in Dir::BOTH {
            let fills =
                |flow: &&super::Flow| flow.direction == dir && flow.app.carrier() != Carrier::Datagrams;
            if !self.flow.iter().any(|flow| fills(&flow)) {
                continue;
            }
            for (place, queue) in self.bearer_queues(dir) {
                let key = format!("{place}.{}", queue.name());
                if queue.is_unlimited() {
                    let hint = "write packets or bytes for a limit";
                    let message = "the buffer has no limit: only the senders' windows bound its delay";
                    remarks.push(ScenarioError::new(key, message, hint));
                } else if let Some(most) = queue.limit_sdus().filter(|most| *most < FEWEST_WAITING) {
                    let message = format!(
                        "room for {most} packets beside the one in transmission: ACKs that arrive just when packets leave find room that senders on \
                         real hosts seldom find, so goodput may be several times theirs"
                    );
                    let hint = "let the delay vary, or write 5 packets or more";
                    remarks.push(ScenarioError::new(key, message, hint));
                }
            }
        }
        remarks
    }

    /// The queues of the cell's bearers, each with its place in the scenario.
    fn bearer_queues(&self, dir: Dir) -> Vec<(String, &queue::Config)> {
        let cell = format!("radio.{}", self.radio.name());
        // In front of the cell's own stand those of its traffic classes.
        let classes = match &self.radio {
            radio::Config::Dch(dch) => {
                let own =
                    dch.qos.iter().filter(|(_, class)| dir.pick(&class.downlink, &class.uplink).is_some());
                own.map(|(class, _)| format!("{cell}.qos.{}", class.name())).collect()
            }
            _ => Vec::new(),
        };
        let places = classes.into_iter().chain([cell]).map(|place| format!("{place}.{}.queue", dir.name()));
        places.zip(self.radio.queues(dir)).collect()
    }

    /// IP bytes of the largest packet that a flow sends in this direction, ACKs included; `None` without flows.
    fn largest_packet(&self, dir: Dir) -> Option<u64> {
        let of_flow = |flow: &super::Flow| {
            let tcp = flow.tcp.as_ref().unwrap_or(&self.tcp);
            let headers = u64::from(tcp.header_bytes());
            let has_data = flow.direction == dir;
            match (flow.app.carrier(), flow.app.datagram_bytes()) {
                (Carrier::Datagrams, sizes) => sizes[usize::from(!has_data)].as_u64(),
                (Carrier::Tcp, _) if has_data => {
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

//! What waits to be sent for the first time: SDUs are cut into blocks when they come, and one of which nothing was
//! sent can be taken out again.

use super::{Block, FixedDelayArq};
use crate::packet::Packet;

impl FixedDelayArq {
    /// Cuts the octets `start..end` of an SDU, the last of the stream, into blocks.
    pub(super) fn cut(&mut self, number: u64, start: u64, end: u64) {
        let mut offset = start;
        if self.config.concatenation
            && let Some(last) = self.queue.back_mut().filter(|block| block.transmissions == 0)
        {
            last.end = end.min(last.start + self.pdu_bytes);
            offset = last.end;
        }
        while offset < end {
            let block_end = end.min(offset + self.pdu_bytes);
            let block = Block { start: offset, end: block_end, first_sdu: number, transmissions: 0 };
            self.queue.push_back(block);
            offset = block_end;
        }
    }

    /// Takes the first SDU out of which no octet was sent. Those behind it move up in the stream of octets, and are
    /// cut anew.
    pub(super) fn take_first_unsent(&mut self) -> Option<Box<Packet>> {
        let is_unsent = |block: &&Block| block.transmissions == 0;
        let unsent = self.queue.iter().find(is_unsent).map_or(self.stream_end, |block| block.start);
        let index = self.sdus.partition_point(|sdu| sdu.start < unsent);
        let taken = self.sdus.remove(index)?;
        self.queue.retain_mut(|block| {
            let stays = block.transmissions > 0 || block.start < taken.start;
            if stays {
                block.end = block.end.min(taken.start);
            }
            stays
        });
        self.stream_end = taken.start;
        for behind in index..self.sdus.len() {
            let sdu = &mut self.sdus[behind];
            let start = self.stream_end;
            (sdu.end, sdu.start) = (start + (sdu.end - sdu.start), start);
            self.stream_end = sdu.end;
            let end = sdu.end;
            self.cut(self.first_sdu + behind as u64, start, end);
        }
        taken.packet
    }
}

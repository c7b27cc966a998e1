//! A cell whose UEs share its downlink, slot by slot.

#[allow(dead_code)] // Until there is the cell.
pub mod air;

//! High Speed Downlink Packet Access (HSDPA), Release 5.

#[allow(dead_code)] // Until there is the cell.
mod formats;
#[allow(dead_code)] // Until there is the cell.
mod reordering;

//! Long Term Evolution (LTE), FDD.

#[allow(dead_code)] // Until there is the cell.
mod formats;

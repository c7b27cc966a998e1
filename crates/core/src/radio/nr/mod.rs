//! 5G NR.
#![allow(dead_code)]

mod blocks;
mod curve;
mod tables;

//! What schedulers make of fading, against theory.

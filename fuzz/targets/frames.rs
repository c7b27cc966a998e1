//! Input of a live link's driver from the process that requested it: octets are frames until they end or one is
//! refused, and their payloads are a configuration and requests, or are refused.
#![no_main]

use airpath_live::message::{Configuration, Request, read, write};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    frames: Vec<(u8, &'a [u8])>,
    behind: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let mut octets = Vec::new();
    for (kind, payload) in &input.frames {
        write(&mut octets, *kind, &[payload]).expect("memory takes it");
    }
    octets.extend_from_slice(input.behind);
    let mut rest = &octets[..];
    for frame in &input.frames {
        let (kind, payload) = read(&mut rest).expect("what was written can be read").expect("a frame");
        assert_eq!((kind, &payload[..]), *frame);
    }
    while let Ok(Some((_, payload))) = read(&mut rest) {
        look(&payload);
    }
    input.frames.iter().for_each(|(_, payload)| look(payload));
});

fn look(payload: &[u8]) {
    let refused = serde_json::from_slice::<Configuration>(payload).map(drop).err();
    let refused = refused.or(serde_json::from_slice::<Request>(payload).map(drop).err());
    assert!(refused.is_none_or(|error| !error.to_string().is_empty()));
}

//! Texts of files that a scenario names, and of traces: each is refused with a reason, or stands in the resolved
//! scenario, which reads the same without the file.
#![no_main]

use airpath_core::scenario::Scenario;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    place: u8,
    head: u8,
    form: u8,
    numbers: Vec<(u16, u16)>,
    behind: &'a str,
}

/// Where a scenario may name a file.
const PLACES: [&str; 5] = [
    "radio.variable.downlink.channel.trace_file",
    "radio.variable.downlink.channel.series",
    "radio.hsdpa.sinr.series",
    "radio.variable.downlink.channel.distribution.rate.empirical",
    "radio.variable.downlink.channel.distribution.delay.empirical",
];
const HEADS: [&str; 5] = [
    "",
    "time_s,rate_kbps\n",
    "time_s,rate_kbps,delay_ms,loss\n0,1,2,0.5\n",
    "time_s,sinr_db\n0,1\n",
    "time_s,ue0_db,ue1_db\n0,1,2\n",
];

impl Input<'_> {
    fn text(&self) -> String {
        let mut text = HEADS[usize::from(self.head) % HEADS.len()].to_owned();
        for (first, second) in self.numbers.iter().take(200) {
            text += &match self.form % 5 {
                0 => format!("{first}\n"),
                1 => format!("{first},{second}\n"),
                2 => format!("{first}.{second},{second}.5,{first},0.{second}\n"),
                3 => format!("{first}.{second} ms\n"),
                _ => format!("{first} kbit/s\n"),
            };
        }
        text + self.behind
    }
}

fuzz_target!(|input: Input<'_>| {
    let place = PLACES[usize::from(input.place) % PLACES.len()];
    let text = input.text();
    let scenario = format!("[{place}]\nfile = \"it\"\n[[flow]]\n");
    let mut asked = 0;
    let mut read = |_: &str| {
        asked += 1;
        Ok(text.clone())
    };
    match Scenario::parse_with(&scenario, &[], &mut read) {
        Ok(scenario) => {
            let resolved = scenario.to_toml().expect("what was read can be written");
            let again = Scenario::parse(&resolved, &[]).expect("the resolved form can be read");
            assert_eq!(again, scenario);
        }
        Err(error) => assert!(!error.message.is_empty()),
    }
    assert!(asked <= 1);
});

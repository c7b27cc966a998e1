//! Transparent mode.

use super::bearer::{PDUS, ms, timeline, tm};
use airpath_core::rlc::tm;
use airpath_core::time::Duration;

/// 480 octets in a TTI.
#[test]
fn sdus_of_one_length_share_a_tti() {
    let config = tm::Config::default();
    let seen = timeline(tm(&config), &[(0, 100), (0, 100), (0, 60), (0, 60)], &[]);
    let right = [
        "0 tx 0-1",
        "0 sent 0",
        "0 sent 1",
        "10 tx 2-3",
        "10 sent 2",
        "10 sent 3",
        "25 up 0",
        "25 up 1",
        "35 up 2",
        "35 up 3",
    ];
    assert_eq!(seen, right);
}

#[test]
fn a_tti_carries_as_many_as_fit() {
    let seen = timeline(tm(&tm::Config::default()), &[(0, 160); 4], &[10]);
    let right = ["0 tx 0-2", "0 sent 0", "0 sent 1", "0 sent 2", "10 tx 3", "10 sent 3"];
    assert_eq!(seen[..6], right);
    assert_eq!(seen[6..], ["25 up 0", "25 up 1", "25 up 2", "35 lost 3"]);
}

#[test]
fn with_segmentation_a_tti_is_for_one_sdu() {
    let config = tm::Config { segmentation: true, ..tm::Config::default() };
    // One octet more than a TTI holds is refused, wherever it stands.
    let seen = timeline(tm(&config), &[(0, 481), (0, 480), (0, 41), (0, 481), (0, 40)], &[]);
    let right = [
        "0 gone 0",
        "0 tx 0-11",
        "0 sent 1",
        "10 tx 12-13",
        "10 sent 2",
        "20 gone 3",
        "20 tx 14",
        "20 sent 4",
        "25 up 1",
        "25 lost 0",
        "35 up 2",
        "45 up 4",
        "45 lost 3",
    ];
    assert_eq!(seen, right);
    let mut bearer = tm(&config);
    for octets in [100, 100] {
        bearer.tx.handle_sdu(ms(0), octets);
    }
    for now in [0, 10, 100] {
        bearer.tti(now, PDUS, |sn| sn == 2);
    }
    assert_eq!((bearer.up, bearer.lost), (vec![1], vec![0]));
}

/// §9.7.3.5: without a timer a new SDU discards those of earlier TTIs, not those of its own.
#[test]
fn a_new_sdu_discards_older_ones_unless_a_timer_does() {
    let sdus = [(0, 400), (0, 300), (0, 200), (15, 100), (16, 90)];
    let gone = |config: &tm::Config| {
        let seen = timeline(tm(config), &sdus, &[]);
        seen.into_iter().filter(|line| line.contains("gone")).collect::<Vec<_>>()
    };
    assert_eq!(gone(&tm::Config::default()), ["20 gone 2"]);
    let timer =
        |after| tm::Config { timer_discard: Some(Duration::from_millis(after)), ..tm::Config::default() };
    assert_eq!(gone(&timer(50)), Vec::<String>::new());
    // The last one waits until 40, for as long as the timer runs.
    assert_eq!(gone(&timer(24)), ["40 gone 4"]);
    assert_eq!(gone(&timer(20)), ["20 gone 2"]);
    // TTIs that begin at 5, 15 and so on: these came in one.
    let offset = tm::Config { offset: Duration::from_millis(5), ..tm::Config::default() };
    let seen = timeline(tm(&offset), &[(6, 400), (6, 300), (14, 200)], &[]);
    assert_eq!(seen.iter().filter(|line| line.contains("up")).count(), 3, "{seen:?}");
}

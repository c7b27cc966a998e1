use airpath::{Datagram, Duration, End, Instant, Net, Scenario};

#[test]
fn a_burst_arrives_within_a_second() {
    let mut net = Net::new(&Scenario::bundled("umts-384").unwrap(), 1);
    let [server, ue] = ["10.0.0.1:4433", "10.64.0.1:5000"].map(|address| address.parse().unwrap());
    for _ in 0..10 {
        net.send(Instant::ZERO, End::Server, Datagram::new(server, ue, vec![0; 1200]));
    }
    while net.advance(Instant::ZERO + Duration::from_secs(1)).is_some() {}
    assert_eq!(net.stats().downlink.delivered, 10);
}

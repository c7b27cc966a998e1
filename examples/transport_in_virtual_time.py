"""Test a transport of your own over a radio link in virtual time: a window of packets, each acknowledged."""

import airpath

WINDOW, PACKETS, RETRY_NS = 40, 200, 2_000_000_000

net = airpath.Net("umts-384", seed=1)
server, ue = (net.address("server"), 4433), (net.address(0), 5000)
now, acked, sent_at = 0, set(), {}


def send(number: int) -> None:
    """Send a packet or retransmit it."""
    sent_at[number] = now
    net.send(now, "server", number.to_bytes(4, "big") + bytes(1000), server, ue)


for number in range(WINDOW):
    send(number)
while len(acked) < PACKETS:
    arrival = net.advance(min(sent_at[number] for number in sent_at.keys() - acked) + RETRY_NS)
    now = net.now
    if arrival is None:
        for number in [number for number in sent_at.keys() - acked if sent_at[number] + RETRY_NS <= now]:
            send(number)
        continue
    source, target, _, payload = arrival.datagram()
    if arrival.to == 0:  # At the UE: acknowledge.
        net.send(now, 0, payload[:4], target, source)
    else:  # At the server: the next one.
        acked.add(int.from_bytes(payload, "big"))
        if len(sent_at) < PACKETS:
            send(len(sent_at))
print(
    f"{PACKETS} packets after {now / 1e9:.2f} s of virtual time; {net.stats().downlink.dropped} were dropped"
)

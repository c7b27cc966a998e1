// The lessons: what to run, what to look at, and what to say of it. Numbers come from the runs that are there.

/** @typedef {import("studio/lesson").Facts} Facts */
/**
 * A step: how many of the lesson's variants are there, the last of which is told; panels that are open, range of time, and
 * what is said, a paragraph each.
 * @typedef {{title: string, panels: string[], variants: number, range?: (facts: Facts) => [number, number] | null, say: (facts: Facts) => string[]}} Step
 */
/** @typedef {{title: string, about: string, settings: {base: string, set: string[]}[], steps: Step[]}} Lesson */

/** A buffer and a window that suit each other: nothing is dropped. */
const ROOMY = ["radio.dch.downlink.queue.droptail.packets=100", "tcp.receive_buffer=40 kB", "tcp.receive_buffer_max=40 kB"];
const OUTAGE_S = 10;
const OUTAGE = [`handover=[{ at = "${OUTAGE_S} s", outage = "3 s", bearers = "pause" }]`];
const PLAIN = ["tcp.profile=rfc", "tcp.timestamps=true", "tcp.receive_buffer=40 kB", "tcp.receive_buffer_max=40 kB"];

/** @type {(at: number | null, before: number, after: number) => [number, number] | null} */
const around = (at, before, after) => (at === null ? null : [Math.max(0, at - before), at + after]);

/** @type {Lesson[]} */
export const LESSONS = [
  {
    title: "The radio hides its losses",
    about: "RLC repeats what the air destroys. TCP sees no loss, but a longer round trip.",
    settings: [{ base: "umts-384", set: ROOMY }, { base: "umts-384", set: [...ROOMY, "radio.dch.downlink.channel.bernoulli.bler=0 %"] }],
    steps: [
      {
        title: "The air destroys blocks", panels: ["rlc"], variants: 1, range: (facts) => around(facts.time("rlc_data", (row) => row.n("lost") > 0) ?? 1, 0.2, 1.3),
        say: (facts) => [
          `The channel loses one block in ten: ${facts.of("PDUs lost on the air, %", 0)} % of the PDUs in this run. Each cross is a TTI that was destroyed, each ring a PDU that RLC sends again.`,
          "Find a cross, and then the ring at the same height to the right of it: the same PDU, a moment later. A plus in between is the STATUS PDU that reported the hole.",
        ],
      },
      {
        title: "TCP does not notice", panels: ["sequence", "rlc"], variants: 1, range: () => null,
        say: (facts) => [
          `TCP sent ${facts.of("segments sent", 0)} segments, and ${facts.of("sent again", 0)} of them again. No ring stands on the sequence line: the link layer has repaired everything.`,
        ],
      },
      {
        title: "The price is time", panels: ["rtt", "rate"], variants: 2, range: () => null,
        say: (facts) => [
          `B is the same run on a radio without errors. The mean round trip is ${facts.of("RTT mean, ms", 0)} ms with errors and ${facts.of("RTT mean, ms", 1)} ms without; one in twenty takes more than ${facts.of("RTT 95 %, ms", 0)} ms, without errors ${facts.of("RTT 95 %, ms", 1)} ms. Repeated blocks use the rate too: goodput is ${facts.of("goodput, kbit/s", 0)} and ${facts.of("goodput, kbit/s", 1)} kbit/s.`,
          "Try it: show A, and drag the slider of bler below channel in radio.dch.downlink.",
        ],
      },
    ],
  },
  {
    title: "Windows fill buffers",
    about: "Slow start overshoots, and a window that only grows until something is dropped keeps the buffer full.",
    settings: [{ base: "umts-384", set: ["tcp.cc=reno"] }],
    steps: [
      {
        title: "Slow start overshoots", panels: ["window", "buffer"], variants: 1, range: (facts) => around(0, 0, (facts.time("dropped") ?? 5) + 2),
        say: (facts) => [
          `In slow start each ACK lets two segments go: cwnd doubles in a round trip. The link needs only a few packets in flight; all others wait in the buffer of the RNC. It has room for ${facts.value("radio.dch.downlink.queue.droptail.packets")} packets.`,
          `At ${facts.seconds(facts.time("dropped"))} it is full, and the first packet is dropped (cross). The sender hears of it a round trip later, and that trip leads through the full buffer: until then it has sent on. In this run ${facts.of("packets dropped, all flows", 0)} packets are dropped.`,
          "Click on the first cross: the sentence below says what happened. The button Next loss goes on from there.",
        ],
      },
      {
        title: "The full buffer is the round trip", panels: ["rtt", "buffer"], variants: 1, range: () => null,
        say: (facts) => [
          `The first round trip took ${facts.first("rtt_sample", "rtt_us", 1000)} ms: the path itself. The mean is ${facts.of("RTT mean, ms", 0)} ms. The difference is time in the buffer: compare the two panels, they have the same shape.`,
        ],
      },
      {
        title: "A larger buffer is no cure", panels: ["rtt", "buffer", "rate"], variants: 1, range: () => null,
        say: (facts) => (facts.length < 2
          ? [
            "Press Compare above: it copies this run as B. Then drag the slider of packets in radio.dch.downlink to 100, and look at the round trip.",
          ]
          : [
            `B has a buffer of ${facts.value("radio.dch.downlink.queue.droptail.packets", 1)} packets. Goodput: ${facts.of("goodput, kbit/s", 0)} kbit/s in A, ${facts.of("goodput, kbit/s", 1)} in B. Mean round trip: ${facts.of("RTT mean, ms", 0)} ms in A, ${facts.of("RTT mean, ms", 1)} ms in B.`,
            "The link was busy already, so room for more packets gives more delay, and hardly more goodput. Far too little room costs goodput: try 10.",
          ]),
      },
    ],
  },
  {
    title: "Eifel: a timeout that was none",
    about: "The link pauses, the timer expires, though nothing is lost. Timestamps show it.",
    settings: [
      { base: "umts-384", set: [...PLAIN, ...OUTAGE, "tcp.undo=none"] },
      { base: "umts-384", set: [...PLAIN, ...OUTAGE, "tcp.undo=eifel"] },
    ],
    steps: [
      {
        title: "Three seconds of silence", panels: ["rtt", "sequence"], variants: 1, range: () => [OUTAGE_S - 2, OUTAGE_S + 8],
        say: (facts) => [
          `From ${OUTAGE_S} s on, the UE is out of reach for 3 s. The bearers keep what they hold, so no packet is lost. But no ACK comes, and at ${facts.seconds(facts.time("segment_sent", (row) => row.word("cause") === "timeout"))} the sender's timer expires (triangle): it takes everything in flight for lost.`,
        ],
      },
      {
        title: "Without Eifel: all of it again", panels: ["window", "sequence"], variants: 1, range: () => [OUTAGE_S + 1, OUTAGE_S + 8],
        say: (facts) => [
          `The sender sends ${facts.of("\u2003go-back-N", 0)} segments once more that had arrived already, and begins with a window of one. These copies load the link, and their duplicate ACKs cause more harm.`,
        ],
      },
      {
        title: "With Eifel: one segment too many", panels: ["window", "sequence"], variants: 2, range: () => [OUTAGE_S + 1, OUTAGE_S + 8],
        say: (facts) => [
          `B is the same run with Eifel. The first ACK after the pause echoes a timestamp older than the retransmission: it answers the original, so the timeout was spurious. The sender puts its window back, and goes on where it was. Segments that it sent once more besides: ${facts.of("\u2003go-back-N", 1)}.`,
          `The whole file took ${facts.of("all complete after, s", 0)} s in A and ${facts.of("all complete after, s", 1)} s in B. In all, ${facts.of("sent again", 0)} and ${facts.of("sent again", 1)} segments were sent again.`,
        ],
      },
    ],
  },
  {
    title: "Holes in RLC",
    about: "A lost block holds back all that arrives behind it; when it comes, everything is delivered at once.",
    settings: [{ base: "umts-384", set: ROOMY }, { base: "umts-384", set: [...ROOMY, "radio.dch.downlink.rlc.am.delivery=out_of_sequence"] }],
    steps: [
      {
        title: "RLC repeats a block", panels: ["rlc"], variants: 1, range: (facts) => around(facts.time("rlc_data", (row) => row.n("lost") > 0 && row.n("time") > 3) ?? 3, 0.05, 0.55),
        say: () => [
          "A TTI is destroyed (cross). The UE has what comes behind it, but not this: a hole. It says so in a STATUS PDU (plus), and the RNC sends the missing PDUs again (ring), while new ones go on.",
          "Press Space: the path below shows the same in slow motion, with the destroyed TTI crossed out and the hole at the UE. Or go from event to event with the arrow keys, and read what each of them says.",
        ],
      },
      {
        title: "Behind the hole all wait", panels: ["rate", "sequence", "rlc"], variants: 1, range: (facts) => around(facts.time("rlc_data", (row) => row.n("lost") > 0 && row.n("time") > 3) ?? 3, 0.3, 2),
        say: () => [
          "RLC delivers in sequence. Packets behind the hole are complete at the UE and wait until it is filled; then all of them reach TCP at once. So the acknowledged line is a staircase: ACKs come in bursts, and the sender answers with bursts.",
        ],
      },
      {
        title: "Out of sequence is worse", panels: ["sequence", "window"], variants: 2, range: () => null,
        say: (facts) => [
          `B is the same run, but RLC hands packets up at once, in whatever order. TCP takes the order for losses: three duplicate ACKs, and it sends again. ${facts.of("sent again", 1)} segments were sent again in B, ${facts.of("sent again", 0)} in A, though nothing was dropped in the buffer (${facts.of("packets dropped, all flows", 1)} packets). Goodput: ${facts.of("goodput, kbit/s", 0)} kbit/s in A, ${facts.of("goodput, kbit/s", 1)} in B.`,
        ],
      },
    ],
  },
  {
    title: "Paced ACKs: the Ack Regulator",
    about: "Reno over a link whose rate varies: alone, and with a box that holds ACKs back.",
    settings: [{ base: "chan-variable-rate", set: ["duration=2 min"] }, { base: "chan-variable-rate-ar", set: ["duration=2 min"] }],
    steps: [
      {
        title: "Reno alone", panels: ["window", "buffer"], variants: 1, range: () => null,
        say: (facts) => [
          `This is plain Reno. The rate of the link varies from packet to packet, and the buffer has room for ${facts.value("radio.variable.downlink.queue.droptail.packets")} packets. When the link slows down with a large window in flight, several packets of one window are dropped, more than Reno can repair: ${facts.of("timer expired", 0)} times the timer had to expire (triangles).`,
        ],
      },
      {
        title: "The regulator holds ACKs", panels: ["held", "window", "buffer"], variants: 2, range: () => [20, 60],
        say: () => [
          "In B a box at the RNC sees buffer and ACKs. It lets an ACK go only when what the sender will send on it fits into the buffer; the others it holds. When it wants the sender to slow down, it provokes one loss, which Reno repairs without its timer.",
          "The panel Box says how many ACKs it holds. Click into it: the sentence tells what the box did.",
        ],
      },
      {
        title: "What it gains", panels: ["window", "rtt", "rate"], variants: 2, range: () => null,
        say: (facts) => [
          `Timeouts: ${facts.of("timer expired", 0)} in A, ${facts.of("timer expired", 1)} in B. Goodput: ${facts.of("goodput, kbit/s", 0)} and ${facts.of("goodput, kbit/s", 1)} kbit/s. The mean round trip is ${facts.of("RTT mean, ms", 0)} and ${facts.of("RTT mean, ms", 1)} ms: ACKs that wait count too.`,
          "One run proves little: change the seed above, and see how far the numbers move.",
        ],
      },
    ],
  },
];

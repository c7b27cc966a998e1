// The lessons: runs, panels and explanations. Numbers come from the runs that are shown.

/** @typedef {import("studio/lesson").Facts} Facts */
/**
 * A step: how many of the lesson's variants are shown (the text is about the last), open panels, range of time, and the
 * text, one string per paragraph.
 * @typedef {{title: string, panels: string[], variants: number, range?: (facts: Facts) => [number, number] | null, say: (facts: Facts) => string[]}} Step
 */
/** @typedef {{title: string, about: string, settings: {base: string, set: string[]}[], steps: Step[]}} Lesson */

/** A buffer large enough for the window: nothing is dropped. */
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
    about: "RLC retransmits lost blocks. TCP sees no loss, but a longer RTT.",
    settings: [{ base: "umts-384", set: ROOMY }, { base: "umts-384", set: [...ROOMY, "radio.dch.downlink.channel.bernoulli.bler=0 %"] }],
    steps: [
      {
        title: "The radio loses blocks", panels: ["rlc"], variants: 1, range: (facts) => around(facts.time("rlc_data", (row) => row.n("lost") > 0) ?? 1, 0.2, 1.3),
        say: (facts) => [
          `The channel loses one block in ten: ${facts.of("PDUs lost, %", 0)} % of the PDUs in this run. Each cross is a lost TTI, each ring a PDU that RLC retransmits.`,
          "Find a cross, and then the ring at the same height to the right of it: the same PDU, retransmitted. A plus in between is the STATUS PDU that reported the gap.",
        ],
      },
      {
        title: "TCP does not notice", panels: ["sequence", "rlc"], variants: 1, range: () => null,
        say: (facts) => [
          `TCP sent ${facts.of("segments sent", 0)} segments and retransmitted ${facts.of("retransmissions", 0)} of them. Retransmissions would be rings in the sequence plot: the link layer repairs losses before TCP notices.`,
        ],
      },
      {
        title: "The price is time", panels: ["rtt", "rate"], variants: 2, range: () => null,
        say: (facts) => [
          `B is the same run on a radio without errors. The mean RTT is ${facts.of("RTT mean, ms", 0)} ms with errors and ${facts.of("RTT mean, ms", 1)} ms without; the 95th percentile is ${facts.of("RTT p95, ms", 0)} ms, without errors ${facts.of("RTT p95, ms", 1)} ms. Retransmitted blocks use capacity too: goodput is ${facts.of("goodput, kbit/s", 0)} and ${facts.of("goodput, kbit/s", 1)} kbit/s.`,
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
          `In slow start each ACK releases two segments: cwnd doubles every round trip. The link needs only a few packets in flight; the others wait in the RNC's buffer. It has room for ${facts.value("radio.dch.downlink.queue.droptail.packets")} packets.`,
          `At ${facts.seconds(facts.time("dropped"))} it is full, and the first packet is dropped (cross). The sender learns of the loss one round trip later, and that round trip includes the full buffer. Meanwhile it keeps sending. In this run ${facts.of("packets dropped, all flows", 0)} packets are dropped.`,
          "Click on the first cross: the sentence below says what happened. The button Next loss continues from there.",
        ],
      },
      {
        title: "The full buffer is the round trip", panels: ["rtt", "buffer"], variants: 1, range: () => null,
        say: (facts) => [
          `The first RTT was ${facts.first("rtt_sample", "rtt_us", 1000)} ms: the path itself. The mean is ${facts.of("RTT mean, ms", 0)} ms. The difference is queueing delay: compare the two panels, they have the same shape.`,
        ],
      },
      {
        title: "A larger buffer is no cure", panels: ["rtt", "buffer", "rate"], variants: 1, range: () => null,
        say: (facts) => (facts.length < 2
          ? [
            "Press Compare above: it copies this run as B. Then drag the slider of packets in radio.dch.downlink to 100, and look at the round trip.",
          ]
          : [
            `B has a buffer of ${facts.value("radio.dch.downlink.queue.droptail.packets", 1)} packets. Goodput: ${facts.of("goodput, kbit/s", 0)} kbit/s in A, ${facts.of("goodput, kbit/s", 1)} in B. Mean RTT: ${facts.of("RTT mean, ms", 0)} ms in A, ${facts.of("RTT mean, ms", 1)} ms in B.`,
            "The link was busy already, so room for more packets gives more delay, and hardly more goodput. Far too little room costs goodput: try 10.",
          ]),
      },
    ],
  },
  {
    title: "Eifel: a spurious timeout",
    about: "The link pauses and the timer expires, though nothing is lost. Timestamps reveal it.",
    settings: [
      { base: "umts-384", set: [...PLAIN, ...OUTAGE, "tcp.undo=none"] },
      { base: "umts-384", set: [...PLAIN, ...OUTAGE, "tcp.undo=eifel"] },
    ],
    steps: [
      {
        title: "Three seconds of silence", panels: ["rtt", "sequence"], variants: 1, range: () => [OUTAGE_S - 2, OUTAGE_S + 8],
        say: (facts) => [
          `From ${OUTAGE_S} s on, the UE is out of reach for 3 s. The bearers keep their packets, so none is lost. But no ACK arrives, and at ${facts.seconds(facts.time("segment_sent", (row) => row.word("cause") === "timeout"))} the sender's timer expires (triangle): it assumes that everything in flight is lost.`,
        ],
      },
      {
        title: "Without Eifel: go-back-N", panels: ["window", "sequence"], variants: 1, range: () => [OUTAGE_S + 1, OUTAGE_S + 8],
        say: (facts) => [
          `The sender restarts with a window of one segment and retransmits ${facts.of("\u2003go-back-N", 0)} segments that had arrived already. The copies load the link and cause duplicate ACKs.`,
        ],
      },
      {
        title: "With Eifel: one spurious retransmission", panels: ["window", "sequence"], variants: 2, range: () => [OUTAGE_S + 1, OUTAGE_S + 8],
        say: (facts) => [
          `B is the same run with Eifel. The first ACK after the pause echoes a timestamp older than the retransmission: it acknowledges the original, so the timeout was spurious. The sender restores its window and continues. Further retransmissions: ${facts.of("\u2003go-back-N", 1)}.`,
          `The whole file took ${facts.of("all complete after, s", 0)} s in A and ${facts.of("all complete after, s", 1)} s in B. In total, ${facts.of("retransmissions", 0)} and ${facts.of("retransmissions", 1)} segments were retransmitted.`,
        ],
      },
    ],
  },
  {
    title: "Gaps in RLC",
    about: "A lost block holds back later data; when it arrives, everything is delivered at once.",
    settings: [{ base: "umts-384", set: ROOMY }, { base: "umts-384", set: [...ROOMY, "radio.dch.downlink.rlc.am.delivery=out_of_sequence"] }],
    steps: [
      {
        title: "RLC retransmits a block", panels: ["rlc"], variants: 1, range: (facts) => around(facts.time("rlc_data", (row) => row.n("lost") > 0 && row.n("time") > 3) ?? 3, 0.05, 0.55),
        say: () => [
          "A TTI is lost (cross). The UE receives later PDUs, so these form a gap. It reports the gap in a STATUS PDU (plus), and the RNC retransmits the missing PDUs (ring) in between new ones.",
          "Press Space: the path below shows the same in slow motion, with the lost TTI crossed out and the gap at the UE. Or go from event to event with the arrow keys, and read what each of them says.",
        ],
      },
      {
        title: "Later packets wait for the gap", panels: ["rate", "sequence", "rlc"], variants: 1, range: (facts) => around(facts.time("rlc_data", (row) => row.n("lost") > 0 && row.n("time") > 3) ?? 3, 0.3, 2),
        say: () => [
          "RLC delivers in sequence. Packets beyond the gap are complete at the UE and wait until it is filled; then all of them reach TCP at once. So the acknowledged line is a staircase: ACKs come in bursts, and the sender sends bursts in response.",
        ],
      },
      {
        title: "Out of sequence is worse", panels: ["sequence", "window"], variants: 2, range: () => null,
        say: (facts) => [
          `B is the same run, but RLC delivers packets as they complete, out of order. TCP mistakes reordering for loss: after three duplicate ACKs it retransmits. B has ${facts.of("retransmissions", 1)} retransmissions, A has ${facts.of("retransmissions", 0)}, though nothing was dropped in the buffer (${facts.of("packets dropped, all flows", 1)} packets). Goodput: ${facts.of("goodput, kbit/s", 0)} kbit/s in A, ${facts.of("goodput, kbit/s", 1)} in B.`,
        ],
      },
    ],
  },
  {
    title: "Paced ACKs: the Ack Regulator",
    about: "Reno over a link whose rate varies: without and with a middlebox that holds ACKs back.",
    settings: [{ base: "chan-variable-rate", set: ["duration=2 min"] }, { base: "chan-variable-rate-ar", set: ["duration=2 min"] }],
    steps: [
      {
        title: "Reno alone", panels: ["window", "buffer"], variants: 1, range: () => null,
        say: (facts) => [
          `This is plain Reno. The rate of the link varies from packet to packet, and the buffer has room for ${facts.value("radio.variable.downlink.queue.droptail.packets")} packets. When the link slows down with a large window in flight, several packets of one window are dropped, more than Reno can repair without its timer: ${facts.of("timeouts", 0)} timeouts (triangles).`,
        ],
      },
      {
        title: "The regulator holds ACKs", panels: ["held", "window", "buffer"], variants: 2, range: () => [20, 60],
        say: () => [
          "In B a middlebox at the RNC sees buffer and ACKs. It releases an ACK only when the segments that the ACK triggers fit into the buffer, and holds the others. To slow the sender down, it provokes one loss, which Reno repairs without a timeout.",
          "The panel Box shows how many ACKs it holds. Click into it: the sentence tells what the box did.",
        ],
      },
      {
        title: "What it gains", panels: ["window", "rtt", "rate"], variants: 2, range: () => null,
        say: (facts) => [
          `Timeouts: ${facts.of("timeouts", 0)} in A, ${facts.of("timeouts", 1)} in B. Goodput: ${facts.of("goodput, kbit/s", 0)} and ${facts.of("goodput, kbit/s", 1)} kbit/s. The mean round trip is ${facts.of("RTT mean, ms", 0)} and ${facts.of("RTT mean, ms", 1)} ms: it includes the time that ACKs are held.`,
          "One run proves little: change the seed above, and see how far the numbers move.",
        ],
      },
    ],
  },
];

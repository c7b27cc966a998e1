#!/usr/bin/env python3
"""An end of a call by aiortc, for `aiortc_gcc.py live`: VP8 from the caller to the callee.

    aiortc_peer.py callee ADDRESS SECONDS
    aiortc_peer.py caller ADDRESS SECONDS

The callee listens at ADDRESS for the description of the caller. The picture has the time of its capture, so
both ends need one clock. At its end a peer prints a line of JSON: the caller the target of its encoder in
each second, bit/s, and the time when it connected; the callee the delay of each decoded frame in ms.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import numpy as np
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription, VideoStreamTrack
from av import VideoFrame

PORT = 8000
WIDTH, HEIGHT = 640, 360
BLOCK = 32
"""Pixels of a bit of the time, in each direction."""
BITS = 16
NOISE = 128
"""Pixels of the noise, in each direction."""
SAMPLE_S = 0.1


def now_ms() -> int:
    """Milliseconds of the clock, modulo what a picture has room for."""
    return int(time.time() * 1000) % (1 << BITS)


class Clock(VideoStreamTrack):
    """A gradient with noise that moves, and the time in its upper edge."""

    def __init__(self) -> None:
        super().__init__()
        self.luma = np.tile(np.linspace(60, 180, WIDTH).astype(np.uint8), (HEIGHT, 1))
        # Not more: a key frame that is larger than the buffer of the link never arrives whole.
        self.luma[-NOISE:, :NOISE] = np.random.default_rng(1).integers(
            60, 180, (NOISE, NOISE), dtype=np.uint8
        )
        self.sent = 0

    async def recv(self) -> VideoFrame:
        pts, time_base = await self.next_timestamp()
        picture = np.full((HEIGHT * 3 // 2, WIDTH), 128, np.uint8)
        picture[:HEIGHT] = np.roll(self.luma, 2 * self.sent, axis=1)
        stamp = now_ms()
        for bit in range(BITS):
            picture[:BLOCK, bit * BLOCK : (bit + 1) * BLOCK] = 235 * (stamp >> bit & 1)
        self.sent += 1
        frame = VideoFrame.from_ndarray(picture, format="yuv420p")
        frame.pts, frame.time_base = pts, time_base
        return frame


def delay_ms(frame: VideoFrame) -> int:
    """Time since the capture of a frame."""
    edge = frame.to_ndarray(format="yuv420p")[:BLOCK, : BITS * BLOCK]
    blocks = edge.reshape(BLOCK, BITS, BLOCK)[8:-8, :, 8:-8].mean(axis=(0, 2))
    stamp = sum(1 << bit for bit in range(BITS) if blocks[bit] > 128)
    return (now_ms() - stamp) % (1 << BITS)


async def write(writer: asyncio.StreamWriter, described: RTCSessionDescription) -> None:
    """Send a description as a line."""
    writer.write(json.dumps({"sdp": described.sdp, "type": described.type}).encode() + b"\n")
    await writer.drain()


async def call(address: str, seconds: float) -> dict[str, Any]:
    """Send video for this time."""
    peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    sender = peer.addTrack(Clock())
    connected = asyncio.Event()

    @peer.on("connectionstatechange")
    def changed() -> None:
        if peer.connectionState == "connected":
            connected.set()

    await peer.setLocalDescription(await peer.createOffer())
    reader, writer = await asyncio.open_connection(address, PORT)
    await write(writer, peer.localDescription)
    await peer.setRemoteDescription(RTCSessionDescription(**json.loads(await reader.readline())))
    await asyncio.wait_for(connected.wait(), 30)
    began, targets = time.time(), []
    while time.time() < began + seconds:
        await asyncio.sleep(SAMPLE_S)
        # There is no public name for it.
        encoder = getattr(sender, "_RTCRtpSender__encoder", None)
        targets.append(float(encoder.target_bitrate) if encoder else 0.0)
    await peer.close()
    writer.close()
    each = round(1 / SAMPLE_S)
    means = [sum(targets[at : at + each]) / each for at in range(0, len(targets) - each + 1, each)]
    return {"target_bps": means, "began": began}


async def answer(address: str) -> dict[str, Any]:
    """Receive video until the caller leaves."""
    delays: list[int] = []
    over = asyncio.Event()

    async def receive(track: Any) -> None:
        while True:
            delays.append(delay_ms(await track.recv()))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        tasks = []
        peer.on("track", lambda track: tasks.append(asyncio.ensure_future(receive(track))))
        await peer.setRemoteDescription(RTCSessionDescription(**json.loads(await reader.readline())))
        await peer.setLocalDescription(await peer.createAnswer())
        await write(writer, peer.localDescription)
        await reader.read()
        for task in tasks:
            task.cancel()
        await peer.close()
        over.set()

    async with await asyncio.start_server(serve, address, PORT):
        await over.wait()
    return {"delays_ms": delays}


def main() -> None:
    """Call, or answer."""
    role, address, seconds = sys.argv[1:]
    print(json.dumps(asyncio.run(answer(address) if role == "callee" else call(address, float(seconds)))))


if __name__ == "__main__":
    main()

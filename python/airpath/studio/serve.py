"""The studio's server: hands out the front's few files, and answers messages over one WebSocket each.

Everything is bounded: connections, sizes of messages, runs at a time, and how long a request may take to
arrive. Answers wait until the client takes them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from airpath.errors import AirpathError, ScenarioError
from airpath.studio.document import SMALL_FRONTS, document, module, module_names
from airpath.studio.guard import ALWAYS, Guard
from airpath.studio.jobs import Jobs
from airpath.studio.messages import MOST_BYTES, Message, MessageError, read_message
from airpath.studio.runs import Again, Part, Progress, Rows, falling, simulating
from airpath.studio.sources import Chosen, Opened, Sources, schema, values_of

HOST = "127.0.0.1"
SOCKET = "/socket"
MOST_CONNECTIONS = 100
"""More are closed as they come."""
MOST_RUNS = 16
"""Most runs of a client that are not over."""
BACKLOG = 20
"""Connections that are accepted at once, before any of them is closed."""
LEAST_FILES = MOST_CONNECTIONS + BACKLOG + 100
"""Open files that the studio may need: connections, and what runs read."""
ARRIVE_S = 5
"""Most time that a request may take to arrive, and a connection to close."""
PING_S = 20
"""A client that does not answer for so long is gone."""

_SILENT = logging.getLogger("airpath.studio")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class Studio:
    """A server for one browser."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._jobs = Jobs()
        self._is_used = False
        self._guard = Guard(0)

    async def serve(self, port: int, on_start: Callable[[str], None], stop: asyncio.Event) -> None:
        """Serve until `stop`; `on_start` is called with the address that lets a browser in.

        Raises
        ------
        OSError
            If the port is not free.
        ScenarioError
            If so few files may be open that connections would use them up.
        """
        _allow_files()
        server = await serve(
            self._talk,
            HOST,
            port,
            process_request=self._answer,
            create_connection=_Bounded,
            compression=None,  # It takes four times the processor time, and the connection is local.
            server_header=None,
            open_timeout=ARRIVE_S,
            close_timeout=1,
            ping_interval=PING_S,
            ping_timeout=PING_S,
            max_size=MOST_BYTES,
            backlog=BACKLOG,
            logger=_SILENT,
        )
        self._guard = Guard(server.sockets[0].getsockname()[1])
        on_start(self._guard.address)
        async with server:
            await stop.wait()

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request for a file; None has the WebSocket opened."""
        path = request.path.partition("?")[0]
        is_socket = path == SOCKET
        refused = self._guard.refusal(
            request.method, request.path, request.headers, is_socket=is_socket, is_used=self._is_used
        )
        if refused:
            return _response(refused.status, "text/plain", f"{refused.why}\n")
        if is_socket:
            return None
        if path == "/":
            is_first = self._guard.has_token(request.path) and not self._is_used
            answer = self._start_page(
                [f'<meta name="airpath-key" content="{self._guard.page_key}">'] * is_first
            )
            if is_first:
                self._is_used = True
                answer.headers["Set-Cookie"] = self._guard.cookie
            return answer
        name = path.removeprefix("/").removesuffix(".js")
        if path == f"/{name}.js" and name in module_names():
            return _response(200, "text/javascript", module(name))
        return _response(404, "text/plain", "There is no such file.\n")

    def _start_page(self, blocks: list[str]) -> Response:
        addresses = {name: f"/{name}.js" for name in module_names() if name not in SMALL_FRONTS}
        connect = (
            f"connect-src 'self' ws://{self._guard.host}"  # Not every browser takes 'self' for WebSockets.
        )
        html, policy = document("airpath studio", addresses, "'self'", connect, blocks=blocks)
        answer = _response(200, "text/html", html)
        answer.headers["Content-Security-Policy"] = f"{policy}; frame-ancestors 'none'"
        return answer

    async def _talk(self, connection: ServerConnection) -> None:
        client = _Client(connection, self._sources, self._jobs)
        with contextlib.suppress(ConnectionClosed):
            try:
                async for data in connection:
                    await client.take(data)
            finally:
                client.end()


def _allow_files() -> None:
    """Have at least `LEAST_FILES` open files allowed."""
    if sys.platform == "win32":  # It has no such limit.
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= LEAST_FILES:
        return
    if hard != resource.RLIM_INFINITY and hard < LEAST_FILES:
        what = f"only {hard} files may be open, and it needs {LEAST_FILES}"
        raise ScenarioError("studio", what, "raise the limit of open files: ulimit -n 1024")
    resource.setrlimit(resource.RLIMIT_NOFILE, (LEAST_FILES, hard))


class _Bounded(ServerConnection):
    """A connection that is closed at once where there are too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if len(self.server.handler_tasks) > MOST_CONNECTIONS:
            self.transport.abort()


class _Client:
    """One WebSocket: its requests, and its runs."""

    def __init__(self, connection: ServerConnection, sources: Sources, jobs: Jobs) -> None:
        self._connection, self._sources, self._jobs = connection, sources, jobs
        self._runs: dict[int, asyncio.Task[None]] = {}

    async def take(self, data: str | bytes) -> None:
        """Handle a message."""
        id_: int | None = None
        try:
            message = read_message(data)
            id_ = message.id
            if message.do == "change":
                answer = await asyncio.to_thread(self._sources.change, message.change)
            else:
                answer = self._do(message)
            if answer is not None:
                await self._tell(id_, answer=answer)
        except AirpathError as error:
            await self._tell(id_, error=_problem(error))

    def end(self) -> None:
        """Cancel all runs."""
        for run in self._runs.values():
            run.cancel()

    def _do(self, message: Message) -> Any:
        match message.do:
            case "scenarios":
                return self._sources.scenarios()
            case "studies":
                return self._sources.studies
            case "schema":
                return json.loads(schema())
            case "resolve":
                scenario = self._sources.scenario(message.base, message.set).scenario
                return {"scenario": scenario.text, "values": values_of(scenario)}
            case "text":
                return self._sources.text(message.base)
            case "open":
                self._begin(message.id, self._parts_of(self._sources.open(message.name)))
            case "run":
                chosen = self._sources.scenario(message.base, message.set)
                self._begin(message.id, simulating(chosen, message.seed))
            case "waterfall":
                chosen = self._sources.scenario(message.base, message.set)
                self._begin(message.id, falling(chosen, message.seed))
            case "cancel" if message.id in self._runs:
                self._runs.pop(message.id).cancel()
        return None

    def _parts_of(self, opened: Opened) -> Iterator[Part]:
        if isinstance(opened, Chosen):
            return simulating(opened, opened.seed)
        from airpath.studio.attach import Attached  # With NumPy, as `sources` says.
        from airpath.studio.reading import reading

        return opened.parts() if isinstance(opened, Attached) else reading(opened)

    def _begin(self, id_: int, parts: Any) -> None:
        if id_ in self._runs:
            self._runs.pop(id_).cancel()
        if len(self._runs) >= MOST_RUNS:
            raise MessageError("run", f"{MOST_RUNS} runs are not over", "wait, or cancel some")
        self._runs[id_] = asyncio.create_task(self._run(id_, parts))

    async def _run(self, id_: int, parts: Any) -> None:
        async def send(part: Part) -> None:
            match part:
                case bytes():
                    await self._connection.send(part + id_.to_bytes(4, "little"))
                case Progress(share, now_s):
                    await self._tell(id_, progress={"share": share, "now_s": now_s})
                case Rows(rows):
                    await self._tell(id_, answer=rows)
                case Again():
                    await self._tell(id_, again=True)
                case _:
                    await self._tell(id_, run=part)

        try:
            await self._jobs.run(parts, send)
            await self._tell(id_, ended=True)
        except AirpathError as error:
            await self._tell(id_, error=_problem(error))
        except ConnectionClosed:
            pass
        finally:
            if self._runs.get(id_) is asyncio.current_task():
                del self._runs[id_]

    async def _tell(self, id_: int | None, **content: Any) -> None:
        await self._connection.send(json.dumps({"id": id_, **content}, separators=(",", ":")))


def _problem(error: AirpathError) -> dict[str, str]:
    return {"path": error.key, "message": error.problem, "hint": error.remedy}


def _response(status: int, kind: str, text: str) -> Response:
    body = text.encode()
    headers = Headers(ALWAYS)
    headers["Content-Type"] = f"{kind}; charset=utf-8"
    headers["Content-Length"] = str(len(body))
    headers["Connection"] = "close"
    return Response(status, "", headers, body)

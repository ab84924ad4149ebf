"""Metrics as TensorBoard's event files."""

import importlib.util
import os
import socket
import time
from pathlib import Path
from typing import Any

from mario_a3c.metrics.lines import append_whole
from mario_a3c.metrics.schema import Record, curves


class TensorBoard:
    """A `Sink`. One event holds all curves of a record.

    Events are written here and now, not by the package's own thread, which a full disk would end: what was written in
    part is cut off again, or TensorBoard would read no further.
    """

    def __init__(self, folder: Path, *, started: str, first_step: int = 0) -> None:
        """`started` is what the text `meta/started` says. With `first_step` TensorBoard forgets what an earlier start
        of the run has written for that step and later ones."""
        self.name, self._folder, self._started, self._first_step = str(folder), folder, started, first_step
        self._file: _EventFile | None = None

    def write(self, payload: Record | None) -> None:
        """None only makes the file: a folder without one then always means trouble."""
        if self._file is None:
            self._file = self._begin()
        if payload is None:
            return
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=tag, simple_value=number) for tag, number in curves(payload)]
        self._file.add(wall_time=payload["time"], step=payload["global_step"], summary=Summary(value=values))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self) -> "_EventFile":
        from tensorboard.compat.proto.event_pb2 import SessionLog

        now, step = time.time(), self._first_step
        file = _EventFile(self._folder, step)
        try:
            file.add(wall_time=now, file_version="brain.Event:2")
            if step:
                file.add(wall_time=now, step=step, session_log=SessionLog(status=SessionLog.START))
            file.add(wall_time=now, step=step, summary=_text("meta/started", self._started))
        except OSError:
            file.close()
            raise
        return file


def has_tensorboard() -> bool:
    return importlib.util.find_spec("tensorboard") is not None


class _EventFile:
    """Whole events or none."""

    def __init__(self, folder: Path, step: int) -> None:
        from tensorboard.summary.writer.record_writer import RecordWriter

        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{step}"
        self._handle = os.open(folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._records = RecordWriter(self)  # frames and checks each event, and hands it to `write`

    def add(self, **fields: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._records.write(Event(**fields).SerializeToString())

    def write(self, data: bytes) -> None:
        append_whole(self._handle, os.fstat(self._handle).st_size, data)

    def close(self) -> None:
        os.close(self._handle)


def _text(tag: str, text: str) -> Any:
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

    tensor = TensorProto(
        dtype="DT_STRING",
        string_val=[text.encode()],
        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
    )
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=tensor)])

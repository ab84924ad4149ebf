"""What NVIDIA's driver says about a GPU, straight from its library: no program is started, no package needed."""

import contextlib
import ctypes
from dataclasses import dataclass

_LIBRARY = "libnvidia-ml.so.1"
_TEMPERATURE_OF_GPU = 0


class NvmlError(Exception):
    """The driver cannot be asked, or does not answer."""


@dataclass(frozen=True, slots=True)
class GpuSample:
    util_percent: float
    mem_used_mb: float
    temperature_c: float | None  # some virtual GPUs keep these to themselves
    power_w: float | None


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Gpu:
    """One GPU, found by the identifier that CUDA also knows: the order of devices may differ between the two."""

    def __init__(self, uuid: str) -> None:
        """Raises NvmlError with the reason."""
        try:
            self._nvml = ctypes.CDLL(_LIBRARY)
        except OSError as error:
            raise NvmlError(f"{_LIBRARY} is not there: no NVIDIA driver") from error
        self._call("nvmlInit_v2")
        self._device = ctypes.c_void_p()
        self._call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(self._device))

    def sample(self) -> GpuSample:
        utilization, memory = _Utilization(), _Memory()
        self._call("nvmlDeviceGetUtilizationRates", self._device, ctypes.byref(utilization))
        self._call("nvmlDeviceGetMemoryInfo", self._device, ctypes.byref(memory))
        milliwatts = self._optional("nvmlDeviceGetPowerUsage")
        return GpuSample(
            util_percent=float(utilization.gpu),
            mem_used_mb=memory.used / 2**20,
            temperature_c=self._optional("nvmlDeviceGetTemperature", ctypes.c_int(_TEMPERATURE_OF_GPU)),
            power_w=None if milliwatts is None else milliwatts / 1000,
        )

    def close(self) -> None:
        with contextlib.suppress(NvmlError):
            self._call("nvmlShutdown")

    def _optional(self, function: str, *arguments: object) -> float | None:
        number = ctypes.c_uint()
        try:
            self._call(function, self._device, *arguments, ctypes.byref(number))
        except NvmlError:
            return None
        return float(number.value)

    def _call(self, function: str, *arguments: object) -> None:
        try:
            status = getattr(self._nvml, function)(*arguments)
        except AttributeError as error:
            raise NvmlError(f"this driver is too old: it has no {function}") from error
        if status != 0:
            describe = self._nvml.nvmlErrorString
            describe.restype = ctypes.c_char_p
            raise NvmlError(f"{function}: {describe(status).decode()}")

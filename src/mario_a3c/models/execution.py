"""How a network is run on this machine: device, precision, compilation. Decided here and nowhere else.

Half precision is for the backbone, where the work is; memory and heads are float32 always, so that log-probabilities of
acting and learning are comparable. float32 means float32: TF32 is off.
"""

import copy
import logging
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from mario_a3c.cache_dir import CacheDir
from mario_a3c.errors import SetupError, first_line
from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import Backbone, ExecutionConfig
from mario_a3c.models.measured_modes import recall_fastest
from mario_a3c.models.torch_probe import ONEDNN_LIMIT, probe_cpu_bfloat16

LOG = logging.getLogger("mario.models")

Precision = Literal["float32", "bfloat16", "float16"]
Compilation = Literal["none", "default", "max-autotune-no-cudagraphs"]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

# One per batch size, precision and use of gradients; beyond it torch would go on uncompiled, with a warning only.
_MAX_COMPILATIONS = 64
_WARM_UP_CALLS = 3
URGENT = -1  # of a CUDA stream: before those of priority 0


@dataclass(frozen=True, slots=True)
class Execution:
    """A decision; goes into the metadata as it is."""

    device: str
    precision: Precision
    compilation: Compilation
    reason: str

    def prepare(self, model: MarioActorCritic) -> MarioActorCritic:
        """Puts a network on the device, ready to learn. Names and types of its weights stay as they were."""
        _turn_tf32_off()
        # Trying kernels makes IMPALA a third faster. Which is fastest may differ between two runs, so the Nature net,
        # which gains nothing, does without and stays the same to the last bit.
        torch.backends.cudnn.benchmark = model.config.backbone == "impala"
        model.to(self.device)
        model.backbone.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        model.backbone.precision = DTYPES[self.precision]
        if self.compilation != "none":
            from torch import _dynamo  # takes a second, which only those who compile should wait

            _dynamo.config.recompile_limit = _MAX_COMPILATIONS
            # In place: a wrapper would put its own name before those of the weights.
            model.backbone.compile(dynamic=False, mode=self.compilation)
        return model

    def acting_copy(self, model: MarioActorCritic) -> MarioActorCritic:
        """A network that only acts, its backbone's weights in half precision; `copy_weights` keeps it up to date."""
        acting = copy.deepcopy(model).requires_grad_(False)
        acting.backbone.to(DTYPES[self.precision])
        return self.prepare(acting)

    def grad_scaler(self) -> torch.amp.GradScaler:
        """Scales the loss where gradients would vanish in float16; elsewhere it does nothing."""
        return torch.amp.GradScaler(torch.device(self.device).type, enabled=self.precision == "float16")

    def graph(self, function: Callable[..., Any], *example: Any) -> Callable[..., Any]:
        """`function`, without gradients, as one CUDA graph for tensors of the example's shapes; on a CPU itself.

        That is for acting: it is short and consoles wait for it, so its kernels go before those of a learner.
        """
        if torch.device(self.device).type != "cuda":
            return function
        with torch.no_grad():
            return CudaGraph(function, example, priority=URGENT)


def wait_for_device(device: torch.device) -> None:
    """Until everything that this thread asked for is done; asleep, where looking again and again would take a core."""
    if device.type == "cuda":
        event = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        event.record()
        event.synchronize()


class CudaGraph:
    """A function recorded once and replayed: one launch instead of hundreds.

    Arguments and results are nested tuples and dictionaries of tensors. The arguments of the recording are where later
    ones are copied to, unless they are those themselves. Results are overwritten by the next call. The function must
    read weights where they lie: change them in place.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        example: tuple[Any, ...],
        *,
        num_warm_up_calls: int = _WARM_UP_CALLS,
        beside: "CudaGraph | None" = None,
        priority: int = 0,
    ) -> None:
        """`function` is called some times before it is recorded: compilation and choice of kernels happen there.
        RecordingError where it cannot be, as a rule for want of memory.

        `beside` is a graph that is never replayed at the same time: both use the same memory. Its kernels have the
        `priority` of the stream that it is recorded on, whatever stream it is replayed on.
        """
        self._inputs = tensors_of(example)
        self._function = function  # and with it every tensor that the graph reads
        side = torch.cuda.Stream(priority=priority)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(num_warm_up_calls):
                function(*example)
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        pool = None if beside is None else beside._graph.pool()
        before, failure = torch.cuda.current_stream(), ""
        try:
            # On a stream of its own: cuBLAS has one workspace per stream, and two graphs recorded on the same one would
            # share it; replayed at the same time they then wait for each other for ever.
            with torch.cuda.graph(self._graph, pool=pool, stream=side, capture_error_mode="thread_local"):
                self._outputs = function(*example)
        except RuntimeError as error:
            failure = first_line(error.__context__ or error)  # the end of a recording only says that something failed
            torch.cuda.set_stream(before)  # which `torch.cuda.graph` does not do then
        if failure:  # outside the handler: the error holds on to everything that was allocated
            raise RecordingError(failure)

    def __call__(self, *arguments: Any) -> Any:
        pairs = zip(self._inputs, tensors_of(arguments), strict=True)
        elsewhere = [(into, given) for into, given in pairs if given is not into]
        if elsewhere:
            torch._foreach_copy_([into for into, _ in elsewhere], [given for _, given in elsewhere])
        self._graph.replay()
        return self._outputs


class RecordingError(Exception):
    """A graph could not be recorded. Nothing of it was computed."""


def is_memory_shortage(error: BaseException) -> bool:
    """torch has a type for the GPU's memory and only words for the machine's; cuDNN finds no kernel that fits."""
    words = ("can't allocate memory", "not enough memory", "cannot allocate memory", "unable to find an engine")
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(word in str(error).lower() for word in words)


def tensors_of(tree: Any) -> list[Tensor]:
    """Its tensors, those of dictionaries by name: two states may have been made in different orders."""
    if isinstance(tree, Tensor):
        return [tree]
    branches = [tree[name] for name in sorted(tree)] if isinstance(tree, Mapping) else tree
    return [tensor for branch in branches for tensor in tensors_of(branch)]


def copy_weights(source: MarioActorCritic, target: MarioActorCritic) -> None:
    """In place, rounded to the target's precision: recorded graphs stay valid."""
    with torch.no_grad():
        torch._foreach_copy_(list(target.parameters()), list(source.parameters()))


def decide_execution(config: ExecutionConfig, backbone: Backbone, cache: CacheDir | None) -> Execution:
    """The fastest way that this machine is known to have, within what the flags allow.

    On a CPU that is eager float32, unless `mario bench model` found something faster for this backbone here.
    """
    device = choose_device(config.device_to_choose)
    execution = _on_gpu(config, device) if device.type == "cuda" else _on_cpu(config, backbone, cache)
    if execution.compilation != "none" and cache is not None:
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache.folder("kernels")))
    return execution


def choose_device(name: str) -> torch.device:
    """`best` takes what there is; `auto` means a GPU, and refuses where there is none."""
    if name in ("best", "auto"):
        if torch.cuda.is_available():
            return torch.device("cuda")
        if name == "auto":
            _accept_no_gpu()
        return torch.device("cpu")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise SetupError(
            f"--device {name}: torch sees {torch.cuda.device_count()} CUDA devices; `mario doctor` says more, "
            "--device cpu works everywhere"
        )
    return device


def _accept_no_gpu() -> None:
    if os.environ.get("MARIO_ALLOW_CPU_AUTO") != "1":
        raise SetupError(
            "--device auto: torch sees no CUDA device; `mario doctor` says more. --device best or cpu trains without "
            "one, and so does --device auto with --allow-cpu (`mario train`) or MARIO_ALLOW_CPU_AUTO=1"
        )
    LOG.warning("--device auto: torch sees no CUDA device; MARIO_ALLOW_CPU_AUTO=1, so the CPU is used")


def _on_gpu(config: ExecutionConfig, device: torch.device) -> Execution:
    precision: Precision = "float32"
    if config.amp:
        precision = "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"
    missing = _missing_for_compilation()
    if config.compile and missing:
        LOG.warning("the network is not compiled, which costs speed: %s is missing", missing)
    compilation: Compilation = "default" if config.compile and not missing else "none"
    return Execution(str(device), precision, compilation, torch.cuda.get_device_name(device))


def _on_cpu(config: ExecutionConfig, backbone: Backbone, cache: CacheDir | None) -> Execution:
    plain = Execution("cpu", "float32", "none", "nothing faster is known here; `mario bench model` measures")
    if cache is None:
        return plain
    mode = recall_fastest(cache, backbone, with_bfloat16=config.amp, with_compilation=config.compile)
    if mode is None:
        return plain
    if mode.precision == "bfloat16" and not allow_cpu_bfloat16(cache):
        return plain
    compilation: Compilation = "default" if mode.is_compiled else "none"
    return Execution("cpu", mode.precision, compilation, f"measured here: {mode.speedup:.2f}x of eager float32")


def allow_cpu_bfloat16(cache: CacheDir | None) -> bool:
    """Whether this process may compute in bfloat16 on the CPU; must be asked before it first computes anything."""
    support = probe_cpu_bfloat16(cache, torch.__version__).support
    if support == "limited":
        os.environ.update(ONEDNN_LIMIT)
    return support != "broken"


def _turn_tf32_off() -> None:
    """cuDNN would use it for float32 convolutions and recurrent layers, and an unroll would differ from its steps."""
    torch.backends.cudnn.conv.fp32_precision = "ieee"  # type: ignore[attr-defined]
    torch.backends.cudnn.rnn.fp32_precision = "ieee"  # type: ignore[attr-defined]


def _missing_for_compilation() -> str | None:
    from torch.utils._triton import has_triton

    if not has_triton():
        return "Triton"
    return None if any(map(shutil.which, ("cc", "gcc", "clang"))) else "a C compiler"

"""The checker for vector environments that Gymnasium lacks: what every user of one relies on, as assertions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

_MAX_STEPS = 2000


class VectorEnvError(AssertionError):
    """A vector environment does not keep to Gymnasium's interface; the message says where."""


def check_vector_env(
    make: "Callable[[], VectorEnv[Any, Any, Any]]", *, num_steps: int = 200, seed: int = 7, copies: bool = True
) -> None:
    """Makes environments with `make`, plays them with random actions, and raises VectorEnvError at the first fault.

    Spaces and their batches, types and shapes of everything returned, equal results for equal seeds, fresh arrays at
    every step (unless `copies` is False), infos with their masks, what autoreset promises, partial resets, and errors
    after close.
    """
    env, twin = make(), make()
    try:
        _check_spaces(env)
        _check_reset(env, seed)
        _check_play(env, twin, num_steps, seed, copies)
        _check_partial_reset(env, seed)
    finally:
        env.close()
        twin.close()
    _check_closed(env)


def _expect(holds: object, complaint: str) -> None:
    if not holds:
        raise VectorEnvError(complaint)


def _has(array: Any, num_envs: int, kind: str) -> bool:
    return isinstance(array, np.ndarray) and array.shape == (num_envs,) and array.dtype.kind == kind


def _check_spaces(env: "VectorEnv[Any, Any, Any]") -> None:
    for kind in ("observation", "action"):
        single, batched = getattr(env, f"single_{kind}_space"), getattr(env, f"{kind}_space")
        _expect(
            batched == batch_space(single, env.num_envs), f"{kind}_space is not single_{kind}_space, num_envs times"
        )
    mode = env.metadata.get("autoreset_mode")
    _expect(isinstance(mode, AutoresetMode), f"metadata['autoreset_mode'] must be an AutoresetMode, got {mode!r}")


def _check_reset(env: "VectorEnv[Any, Any, Any]", seed: int) -> None:
    result = env.reset(seed=seed)
    _expect(isinstance(result, tuple) and len(result) == 2, "reset() returns (observations, infos)")
    observations, infos = result
    _expect(observations in env.observation_space, "the observations of reset() are not in observation_space")
    _check_infos(env, infos)
    many, _ = env.reset(seed=[seed + index for index in range(env.num_envs)])  # type: ignore[arg-type]
    _expect(np.array_equal(observations, many), "reset(seed=s) differs from reset(seed=[s, s + 1, ...])")


def _check_play(
    env: "VectorEnv[Any, Any, Any]", twin: "VectorEnv[Any, Any, Any]", num_steps: int, seed: int, copies: bool
) -> None:
    env.action_space.seed(seed)
    first, _ = env.reset(seed=seed)
    same, _ = twin.reset(seed=seed)
    _expect(np.array_equal(first, same), "equal seeds give different first observations")
    before, num_ended = first, 0
    kept = before.copy()
    for step in range(max(num_steps, 1)):
        actions = env.action_space.sample()
        ours, theirs = env.step(actions), twin.step(actions)
        _check_types(env, ours)
        for name, one, other in zip(("observations", "rewards", "terminated", "truncated"), ours, theirs, strict=False):
            _expect(np.array_equal(one, other), f"step {step}: equal seeds and actions give different {name}")
        if copies:
            _expect(np.array_equal(before, kept), f"step {step} overwrote the observations of the step before")
            _expect(not np.shares_memory(before, ours[0]), f"step {step} returned the array of the step before")
        num_ended += int((ours[2] | ours[3]).sum())
        _check_autoreset(env, ours, step)
        before, kept = ours[0], ours[0].copy()
    _expect(num_ended > 0 or num_steps >= _MAX_STEPS, "no episode ended: give more steps, or a shorter limit, to check")


def _check_types(env: "VectorEnv[Any, Any, Any]", result: tuple[Any, ...]) -> None:
    _expect(len(result) == 5, f"step() returns five things, got {len(result)}")
    observations, rewards, terminated, truncated, infos = result
    _expect(observations in env.observation_space, "the observations of step() are not in observation_space")
    _expect(_has(rewards, env.num_envs, "f"), f"rewards must be floats of shape ({env.num_envs},)")
    for name, flags in (("terminated", terminated), ("truncated", truncated)):
        _expect(_has(flags, env.num_envs, "b"), f"{name} must be bools of shape ({env.num_envs},)")
    _expect(not (terminated & truncated).any(), "an episode is terminated or truncated, not both")
    _check_infos(env, infos)


def _check_infos(env: "VectorEnv[Any, Any, Any]", infos: dict[str, Any]) -> None:
    _expect(isinstance(infos, dict), f"infos must be a dict, got {type(infos).__name__}")
    for name, value in infos.items():
        if name.startswith("_"):
            _expect(_has(value, env.num_envs, "b"), f"infos[{name!r}] must be a mask of shape ({env.num_envs},)")
        elif isinstance(value, dict):
            _check_infos(env, value)
        else:
            _expect(len(value) == env.num_envs, f"infos[{name!r}] must have a value for each environment")
            _expect(f"_{name}" in infos, f"infos[{name!r}] lacks its mask, infos['_{name}']")


def _check_autoreset(env: "VectorEnv[Any, Any, Any]", result: tuple[Any, ...], step: int) -> None:
    if env.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
        return
    _, _, terminated, truncated, infos = result
    ended = terminated | truncated
    if not ended.any():
        _expect("final_obs" not in infos, f"step {step}: final_obs although nothing ended")
        return
    for name in ("final_obs", "final_info"):
        _expect(name in infos, f"step {step}: an episode ended and infos lacks {name!r}")
        _expect(np.array_equal(infos[f"_{name}"], ended), f"step {step}: infos['_{name}'] is not who ended")
    for index in np.flatnonzero(ended):
        final = infos["final_obs"][index]
        _expect(final in env.single_observation_space, f"step {step}: final_obs[{index}] is not an observation")


def _check_partial_reset(env: "VectorEnv[Any, Any, Any]", seed: int) -> None:
    if env.num_envs < 2:
        return
    observations, _ = env.reset(seed=seed)
    for _ in range(5):
        observations, *_ = env.step(env.action_space.sample())
    before = observations.copy()
    mask: npt.NDArray[np.bool_] = np.zeros(env.num_envs, np.bool_)
    mask[0] = True
    options = {"reset_mask": mask}
    after, _ = env.reset(options=options)
    _expect("reset_mask" in options, "reset() took the mask out of the caller's options")
    _expect(np.array_equal(after[1:], before[1:]), "a masked reset changed environments outside the mask")


def _check_closed(env: "VectorEnv[Any, Any, Any]") -> None:
    _expect(env.closed, "close() did not set `closed`")
    env.close()  # a second time is allowed
    try:
        env.step(env.action_space.sample())
    except Exception:  # noqa: BLE001 - any error will do; silence would not
        return
    raise VectorEnvError("step() after close() raised nothing")

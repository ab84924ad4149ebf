"""Every field of every record that a run writes: the one place where names, units and meanings are said.

`docs/metrics_schema.md` is made from it, and whatever is written is checked against it.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

VERSION = 1

Kind = Literal["metrics", "episode", "heartbeat"]
Type = Literal["integer", "number", "text", "switch", "texts", "numbers by name", "summaries", "counts by name"]
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record. It is always there, and null where `present` does not hold."""

    name: str
    type: Type
    unit: str
    meaning: str
    group: str = "run"
    present: str = "always"

    @property
    def tag(self) -> str:
        """Its name in TensorBoard and W&B."""
        return f"{self.group}/{self.name}"

    @property
    def is_curve(self) -> bool:
        return self.type in ("integer", "number", "numbers by name") and self.group != "identity"


_EPISODE = "once an episode has ended"
_REPLAY = "with --per"
_STARTS = "with --curriculum, or starts along the way"
_PROGRESS = "pixels, or with --progress map share of the way"
_GPU = "where NVIDIA's driver answers"

_IDENTITY = (
    Field("kind", "text", "", "what kind of record this is", "identity"),
    Field("schema", "integer", "", f"version of this table, now {VERSION}", "identity"),
    Field("session", "integer", "starts", "which start of the run wrote it, from 1", "identity"),
    Field("time", "number", "s", "when, in seconds since 1970", "identity"),
    Field("update", "integer", "updates", "updates made by the run so far", "identity"),
    Field("global_step", "integer", "steps", "steps learned from so far, in all environments", "identity"),
)

METRICS = (
    *_IDENTITY,
    Field("seconds", "number", "s", "time spent on updates, in all starts", "run"),
    Field("episodes_total", "integer", "episodes", "episodes that have ended", "episodes"),
    Field("clears_total", "integer", "episodes", "of them, those that reached the flag or axe", "episodes"),
    # Losses and what else an update says of itself: means over the updates since the last record.
    Field("loss_total", "number", "", "what is minimised: policy, value and entropy", "learning", "when it is finite"),
    Field("loss_policy", "number", "", "the policy's part of it", "learning", "when it is finite"),
    Field("loss_value", "number", "", "the value's part, before its weight", "learning", "when it is finite"),
    Field("loss_replay", "number", "", "loss on replayed sequences", "learning", f"{_REPLAY}, when one was sampled"),
    Field("entropy", "number", "nat", "mean entropy of the policy; ln(actions) when it has no preference", "learning"),
    Field("kl", "number", "nat", "divergence from the policy that acted", "learning"),
    Field("clip_fraction", "number", "share", "probability ratios beyond the clipped objective's range", "learning"),
    Field("rho_mean", "number", "", "mean importance ratio", "learning"),
    Field("first_log_rho_max", "number", "", "largest |log ratio| before an update's first step", "learning"),
    Field("explained_variance", "number", "", "how much of the returns the value explains; 1 is all", "learning"),
    Field("advantage_std", "number", "", "deviation of the advantages", "learning"),
    Field("teacher_kl", "number", "nat", "divergence from the teacher; 0 where none is followed", "learning"),
    Field("grad_norm", "number", "", "length of the gradient before clipping", "learning"),
    Field("learning_rate", "number", "", "of the optimizer", "learning"),
    Field("entropy_beta", "number", "", "weight of the entropy", "learning"),
    Field("floor_beta", "number", "", "weight of the mean log-probability of all actions", "learning"),
    Field("teacher_beta", "number", "", "weight of the divergence from the teacher", "learning"),
    Field("gamma", "number", "", "discount of a step", "learning"),
    Field("optimizer_steps", "integer", "steps", "optimizer steps since the last record", "learning"),
    Field("skipped_steps", "integer", "steps", "of them, not applied because something was not finite", "learning"),
    Field("rollbacks_total", "integer", "", "times the last good weights were taken back", "learning"),
    Field("num_pieces", "integer", "pieces", "of a minibatch, to fit into memory", "learning"),
    Field("policy_lag", "number", "updates", "mean age of the weights that acted", "learning"),
    Field("policy_lag_max", "integer", "updates", "largest age since the last record", "learning"),
    # The last episodes.
    Field("avg_return", "number", "", "mean return of the last --return-window episodes", "episodes", _EPISODE),
    Field("recent_return_p50", "number", "", "median of the same", "episodes", _EPISODE),
    Field("recent_return_p90", "number", "", "90th percentile of the same", "episodes", _EPISODE),
    Field("recent_return_p99", "number", "", "99th percentile of the same", "episodes", _EPISODE),
    Field("episode_length_mean", "number", "steps", "mean length of the same", "episodes", _EPISODE),
    Field("episode_length_p90", "number", "steps", "90th percentile of the same", "episodes", _EPISODE),
    Field("progress_mean", "number", _PROGRESS, "mean progress of the same", "episodes", _EPISODE),
    Field("power_ups_mean", "number", "", "mushrooms and flowers that each of the same took", "episodes", _EPISODE),
    Field(
        "end_shares",
        "numbers by name",
        "share",
        "how the same ended: flag, death, time_limit, stall, ...",
        "ends",
        _EPISODE,
    ),
    Field(
        "clear_rate",
        "number",
        "share",
        "of the last --clear-window episodes, those that reached the flag",
        "episodes",
        _EPISODE,
    ),
    Field(
        "clear_rate_by_stage",
        "numbers by name",
        "share",
        "the same for each stage that was played",
        "clear_rate",
        _EPISODE,
    ),
    Field(
        "power_up_rate_by_stage",
        "numbers by name",
        "share",
        "of the same episodes of each stage, those that took a mushroom or a flower",
        "power_up_rate",
        _EPISODE,
    ),
    Field("eval_clear_rate", "number", "share", "of the newest evaluation's episodes", "evaluation", "after one"),
    Field("eval_update", "integer", "updates", "whose weights it was about", "evaluation", "after one"),
    Field(
        "stage_weights",
        "numbers by name",
        "share",
        "of the episodes, how many begin in each stage",
        "stage_weights",
        _STARTS,
    ),
    Field(
        "stage_starts",
        "numbers by name",
        "share",
        "of each stage's way, how much lies before the earliest start along it; 0: all begin at its own start",
        "stage_starts",
        _STARTS,
    ),
    Field(
        "stage_real_starts",
        "numbers by name",
        "share",
        "of each stage's episodes, how many begin at its own start",
        "stage_real_starts",
        _STARTS,
    ),
    Field("furthest_progress", "number", _PROGRESS, "largest progress of any episode", "episodes", _EPISODE),
    # Speed, and where the time goes: since the last record.
    Field("env_steps_per_sec", "number", "steps/s", "of all environments together", "speed"),
    Field("env_fps", "number", "frames/s", "NES frames, of all environments together", "speed"),
    Field("updates_per_sec", "number", "updates/s", "updates of the learner", "speed"),
    Field("share_consoles", "number", "share", "of the time, stepping consoles", "time"),
    Field("share_acting", "number", "share", "of the time, deciding what to press", "time"),
    Field("share_collect", "number", "share", "both together: collecting", "time"),
    Field("share_learn", "number", "share", "of the time, learning", "time"),
    Field("share_wait", "number", "share", "of the time, the learner waiting for a rollout (overlapped)", "time"),
    Field("eta_seconds", "number", "s", "until the budget is used up, at this speed", "speed"),
    # Replay.
    Field("replay_fill_rate", "number", "share", "of its room that is used", "replay", _REPLAY),
    Field("replay_last_unique_ratio", "number", "share", "different sequences in the last sample", "replay", _REPLAY),
    Field("replay_avg_unique_ratio", "number", "share", "the same, averaged over all samples", "replay", _REPLAY),
    Field("avg_sample_unique_ratio", "number", "share", "another name of the same", "replay", _REPLAY),
    Field("replay_push_total", "integer", "steps", "steps stored so far", "replay", _REPLAY),
    Field(
        "td_error_p50",
        "number",
        "",
        "median |advantage| of the last rollout, from which priorities come",
        "replay",
        _REPLAY,
    ),
    Field("td_error_p90", "number", "", "90th percentile of the same", "replay", _REPLAY),
    Field("td_error_p99", "number", "", "99th percentile of the same", "replay", _REPLAY),
    # The machine.
    Field("gpu_util_last", "number", "%", "share of the last moment in which the GPU worked", "gpu", _GPU),
    Field("gpu_util_mean_window", "number", "%", "mean of the last --gpu-window samples", "gpu", _GPU),
    Field("gpu_util_peak_window", "number", "%", "largest of the same", "gpu", _GPU),
    Field("gpu_mem_used_mb", "number", "MB", "memory in use on the GPU, by everybody", "gpu", _GPU),
    Field("gpu_mem_peak_mb", "number", "MB", "largest of the same window", "gpu", _GPU),
    Field("gpu_temperature_c", "number", "°C", "of the GPU", "gpu", _GPU),
    Field("gpu_power_w", "number", "W", "of the GPU", "gpu", _GPU),
    Field("cpu_percent", "number", "%", "of this process; 100 is one core", "machine"),
    Field("memory_mb", "number", "MB", "resident memory of this process", "machine"),
    Field("memory_free_mb", "number", "MB", "that the system could still give", "machine", "on Linux"),
    Field("disk_free_mb", "number", "MB", "free where the run is written", "machine"),
    Field("num_threads", "integer", "threads", "of Python's in this process", "machine"),
    Field("telemetry_cpu_share", "number", "share", "of the process's CPU time, spent on all of this", "machine"),
    Field("alerts", "texts", "", "names of the alerts that hold", "alerts"),
    Field("alerts_active", "integer", "alerts", "how many", "alerts"),
)

EPISODES = (
    *_IDENTITY,
    Field("stage", "text", "", "where it began, like 1-1"),
    Field("return", "number", "", "sum of its rewards"),
    Field("length", "integer", "steps", "its steps"),
    Field("frames", "integer", "frames", "its NES frames"),
    Field("progress", "number", _PROGRESS, "how far it came"),
    Field("end_reason", "text", "", "flag, death, game_over, warp, time_limit, stall or jammed"),
    Field("power_ups", "integer", "", "mushrooms and flowers that were taken"),
    Field("number", "integer", "", "which episode of its environment this was"),
    Field("start", "integer", "", "which start state it began from"),
    Field("is_whole", "switch", "", "whether that is its stage's own start: clear rates are of those alone"),
)

HEARTBEATS = (
    *_IDENTITY,
    Field("pid", "integer", "", "the process"),
    Field("host", "text", "", "the machine it runs on"),
    Field(
        "phase",
        "text",
        "",
        "starting, compile, collect, learn, tasks, save, evaluating, interrupt; then finished, stopped or failed",
    ),
    Field("interval_seconds", "number", "s", "time between heartbeats"),
    Field("phase_seconds", "number", "s", "how long it has been in it"),
    Field("rollout_progress", "number", "share", "of the running rollout's steps"),
    Field("quiet_seconds", "number", "s", "since anything moved: a step, a minibatch, a change of phase"),
    Field("stall_after_seconds", "number", "s", "from when on that is called a stall"),
    Field("is_stalled", "switch", "", "whether it is"),
    Field("stack_file", "text", "", "where the threads' stacks were written", present="after a stall"),
    Field("num_updates_planned", "integer", "updates", "updates at the most"),
    Field("env_steps_per_sec", "number", "steps/s", "as in the last metrics", present="after the first metrics"),
    Field("cpu_percent", "number", "%", "of this process; 100 is one core"),
    Field("memory_mb", "number", "MB", "resident memory of this process"),
    Field("num_threads", "integer", "threads", "of Python's in this process"),
    Field("gpu_util_last", "number", "%", "share of the last moment in which the GPU worked", present=_GPU),
    Field("gpu_mem_used_mb", "number", "MB", "memory in use on the GPU", present=_GPU),
    Field("message", "text", "", "why it ended", present="at the end"),
)

EVALUATIONS = (
    Field("update", "integer", "updates", "updates made by the run when it had the weights"),
    Field("kind", "text", "", "why: interval, confirmation (of a clear rate), or final"),
    Field("time", "number", "s", "when the result was known, in seconds since 1970"),
    Field("seconds", "number", "s", "time spent on updates, in all starts, until it had them"),
    Field("global_step", "integer", "steps", "steps learned from by then, in all environments"),
    Field(
        "clear_rate", "number", "share", "of all episodes, those that reached the flag", present="when it is complete"
    ),
    Field("is_complete", "switch", "", "whether it was played to its end: one that can no longer succeed is not"),
    Field("summaries", "summaries", "", "one object for each stage and mode, as below"),
)
SUMMARIES = (
    Field("stage", "text", "", "like 1-1"),
    Field("mode", "text", "", "greedy, sampled, noop or sticky"),
    Field("num_episodes", "integer", "episodes", "played, or for greedy play counted"),
    Field("num_clears", "integer", "episodes", "of them, those that reached the flag or axe"),
    Field("clear_rate", "number", "share", "the same, as a share"),
    Field("clear_rate_low", "number", "share", "lower end of Wilson's interval, at 95 %; greedy play has none"),
    Field("clear_rate_high", "number", "share", "its upper end"),
    Field("mean_return", "number", "", "reward of an episode, not discounted"),
    Field("mean_progress", "number", "pixels", "how far it came; in pixels whatever was learned from"),
    Field("median_steps", "number", "steps", "how long it took"),
    Field("end_reasons", "counts by name", "episodes", "how they ended: flag, death, stall, time_limit, ..."),
)

FIELDS: Mapping[Kind, Mapping[str, Field]] = {
    "metrics": {field.name: field for field in METRICS},
    "episode": {field.name: field for field in EPISODES},
    "heartbeat": {field.name: field for field in HEARTBEATS},
}


def complete(kind: Kind, values: Mapping[str, Any]) -> Record:
    """A record with every field of its kind, in their order; what is not finite or not there is null.

    Raises ValueError on a name that the schema does not know: a defect, found by the first test that meets it.
    """
    fields = FIELDS[kind]
    if not values.keys() <= fields.keys():
        raise ValueError(f"{kind} records have no {sorted(values.keys() - fields.keys())}; add it to metrics/schema.py")
    given = {"kind": kind, "schema": VERSION, **values}
    return {name: finite(given.get(name)) for name in fields}


def finite(value: Any) -> Any:
    """JSON has no nan and no infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    return value


def curves(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Everything in a metrics record that can be drawn: tag and number."""
    for name, field in FIELDS["metrics"].items():
        value = record.get(name)
        if value is None or not field.is_curve:
            continue
        if isinstance(value, Mapping):
            yield from ((f"{field.group}/{key}", float(each)) for key, each in value.items() if each is not None)
        else:
            yield field.tag, float(value)


def problems_of(record: Mapping[str, Any]) -> list[str]:
    """What is wrong with a record that was read; for tests and for files of unknown origin."""
    kind: Any = record.get("kind")
    if kind not in FIELDS:
        return [f"unknown kind {kind!r}"]
    fields = FIELDS[kind]
    wrong = [f"unknown field {name}" for name in record if name not in fields]
    wrong += [f"{name} is missing" for name in fields if name not in record]
    return wrong + [
        f"{name} is {record[name]!r}, not {field.type}"
        for name, field in fields.items()
        if record.get(name) is not None and not _fits(field.type, record[name])
    ]


def _fits(expected: Type, value: Any) -> bool:
    if expected == "numbers by name":
        return isinstance(value, dict) and all(_fits("number", each) for each in value.values() if each is not None)
    if expected == "texts":
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    if isinstance(value, bool):
        return expected == "switch"
    return isinstance(value, {"integer": int, "number": int | float, "text": str, "switch": bool}[expected])

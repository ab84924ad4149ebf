"""What others say, or were seen, to reach in this game. Constants with their sources, for reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """`greedy` are stages that were cleared once, by the most likely actions; `sampled` is for drawn actions."""

    name: str
    source: str
    note: str
    greedy: frozenset[str] = frozenset()
    sampled: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # clears, episodes


_ALL = [f"{world}-{number}" for world in range(1, 9) for number in range(1, 5)]
_BY_A3C = (
    "1-1", "1-2", "1-4", "2-1", "2-2", "2-3", "2-4", "3-1", "3-2", "3-3", "3-4", "4-1", "5-1", "6-1", "6-3", "7-1",
    "7-3", "8-2", "8-3",
)  # fmt: skip

PUBLISHED = (
    PublishedResult(
        name="A3C, Viet Nguyen",
        source="https://github.com/vietnh1009/Super-mario-bros-A3C-pytorch",
        note="19 of 32 stages, as its author claims; not checked",
        greedy=frozenset(_BY_A3C),
    ),
    PublishedResult(
        name="PPO, Viet Nguyen",
        source="https://github.com/vietnh1009/Super-mario-bros-PPO-pytorch",
        note="31 of 32 stages greedily; drawn actions were tried with its weights, ten episodes each",
        greedy=frozenset(_ALL) - {"8-4"},
        sampled={"1-1": (1, 10), "1-3": (0, 10), "2-1": (2, 10), "8-1": (0, 10)},
    ),
    PublishedResult(
        name="PPO, tsilva",
        source="https://github.com/tsilva/gradlab",
        note="drawn actions, 100 episodes each, as its author claims; one agent for each stage; not checked",
        sampled={
            "1-1": (96, 100), "1-2": (97, 100), "1-4": (97, 100), "2-1": (82, 100), "3-3": (96, 100),
            "3-4": (96, 100), "4-1": (97, 100),
        },
    ),
)  # fmt: skip

"""Something that makes updates and can be saved: all that saving wants of a trainer."""

from types import SimpleNamespace
from typing import Any

from tests.support.checkpoints import small_state


class SavingTrainer:
    def __init__(self, num_updates: int = 0, num_values: int = 64) -> None:
        self.num_values = num_values
        self.progress = SimpleNamespace(
            num_updates=num_updates,
            num_steps=0,
            num_episodes=0,
            seconds=0.0,
            clear_rate=0.0,
            window_size=200,
            is_window_full=True,
        )
        self.parts = SimpleNamespace(progress=self.progress, state=self.state)
        self.last_complete_state = self.state

    def state(self) -> dict[str, Any]:
        return small_state(self.progress.num_updates, self.num_values)

    def make_update(self, clear_rate: float = 0.0) -> None:
        self.progress.num_updates += 1
        self.progress.clear_rate = clear_rate

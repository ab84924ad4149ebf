from mario_a3c.models.actor_critic import MarioActorCritic
from mario_a3c.models.config import ModelConfig
from mario_a3c.models.size import measure_size


def test_sizes_are_those_counted_by_hand() -> None:
    """Multiply-adds of every layer: outputs x inputs of each."""
    nature = measure_size(MarioActorCritic(ModelConfig(backbone="nature", hidden_size=512), 7))
    convolutions = 20 * 20 * 32 * 4 * 64 + 9 * 9 * 64 * 32 * 16 + 7 * 7 * 64 * 64 * 9
    assert nature.num_multiply_adds == convolutions + 3136 * 512 + 512 * 8
    assert nature.num_parameters == 1_688_232
    assert nature.num_state_bytes == 0
    impala = measure_size(MarioActorCritic(ModelConfig(backbone="impala", hidden_size=256), 7))
    assert round(impala.num_multiply_adds / 1e6, 1) == 54.2


def test_a_memory_adds_what_it_costs() -> None:
    def size(recurrent_type: str) -> int:
        config = ModelConfig(backbone="nature", recurrent_type=recurrent_type)  # type: ignore[arg-type]
        return measure_size(MarioActorCritic(config, 7)).num_multiply_adds

    assert size("gru") - size("none") == 3 * 256 * (512 + 256) - 8 * 256  # smaller heads
    assert size("lstm") - size("none") == 4 * 256 * (512 + 256) - 8 * 256


def test_the_state_of_a_memory_is_counted_per_environment() -> None:
    model = MarioActorCritic(ModelConfig(backbone="nature", recurrent_type="lstm"), 7)
    assert measure_size(model).num_state_bytes == 2 * 256 * 4

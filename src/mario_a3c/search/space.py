"""What is varied: learning rate, entropy, the network's size and its memory."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast, get_args

from mario_a3c.config import TrainingConfig
from mario_a3c.models.config import RecurrentType

if TYPE_CHECKING:
    from optuna import Trial

LR_RANGE, ENTROPY_RANGE = (5e-5, 5e-3), (5e-4, 5e-2)
HIDDEN_SIZES, RESIDUAL_BLOCKS = (128, 256, 512), (1, 2, 3)
RECURRENT_TYPES: tuple[RecurrentType, ...] = get_args(RecurrentType)


def suggest(trial: "Trial", config: TrainingConfig) -> TrainingConfig:
    """The settings of a trial. Entropy falls to the same share as before; residual blocks are IMPALA's alone."""
    entropy_beta = trial.suggest_float("entropy_beta", *ENTROPY_RANGE, log=True)
    final_share = (
        config.learner.entropy_beta_final / config.learner.entropy_beta if config.learner.entropy_beta else 1.0
    )
    model = replace(
        config.model,
        hidden_size=trial.suggest_categorical("hidden_size", HIDDEN_SIZES),
        recurrent_type=cast(RecurrentType, trial.suggest_categorical("recurrent_type", RECURRENT_TYPES)),
    )
    if model.backbone == "impala":
        model = replace(model, residual_blocks=trial.suggest_categorical("residual_blocks", RESIDUAL_BLOCKS))
    learner = replace(
        config.learner,
        lr=trial.suggest_float("lr", *LR_RANGE, log=True),
        entropy_beta=entropy_beta,
        entropy_beta_final=entropy_beta * final_share,
    )
    return replace(config, model=model, learner=learner)


def parameters_of(config: TrainingConfig) -> dict[str, Any]:
    """The point of the space at which these settings lie; where one lies outside, what is left of it."""
    parameters: dict[str, Any] = {"recurrent_type": config.model.recurrent_type}
    for name, value, (low, high) in (
        ("lr", config.learner.lr, LR_RANGE),
        ("entropy_beta", config.learner.entropy_beta, ENTROPY_RANGE),
    ):
        parameters |= {name: value} if low <= value <= high else {}
    if config.model.hidden_size in HIDDEN_SIZES:
        parameters["hidden_size"] = config.model.hidden_size
    if config.model.backbone == "impala" and config.model.residual_blocks in RESIDUAL_BLOCKS:
        parameters["residual_blocks"] = config.model.residual_blocks
    return parameters

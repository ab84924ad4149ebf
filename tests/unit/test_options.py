from dataclasses import dataclass, fields

import pytest

from mario_a3c.options import flag_of, help_of, is_option, is_positional, option, section


@dataclass(frozen=True, kw_only=True, slots=True)
class Inner:
    num_envs: int = option(8, "environments")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outer:
    inner: Inner = section(Inner)
    priority_exponent: float = option(0.6, "by priority", flag="--per-alpha")
    action: str = option("list", "what to do", positional=True)


def test_an_option_tells_its_flag_and_help() -> None:
    (num_envs,) = fields(Inner)
    inner, exponent, action = fields(Outer)
    assert (flag_of(num_envs), help_of(num_envs)) == ("--num-envs", "environments")
    assert flag_of(exponent) == "--per-alpha"
    assert [is_option(each) for each in (inner, exponent, action)] == [False, True, True]
    assert [is_positional(each) for each in (exponent, action)] == [False, True]


def test_a_flag_without_its_hyphens_is_refused() -> None:
    with pytest.raises(ValueError, match="two hyphens"):
        option(1, "", flag="per-alpha")

"""Trains on another machine: copies this checkout there by ssh, starts `mario train`, and brings the runs back.

`python scripts/train_remote.py gpu-box -- --stages all`            starts; goes on when the connection ends
`python scripts/train_remote.py gpu-box --shutdown -- --stages all` and switches the machine off when the run has ended
`python scripts/train_remote.py gpu-box --status`                   how it stands
`python scripts/train_remote.py gpu-box --fetch`                    copies trained_models to this machine

Whatever ends the run (done, a budget, a failure), with --shutdown the machine goes off a minute later; runs stay on its
disk. `--max-seconds` or `--max-steps` behind -- keep a run from costing more than it should.
"""

import argparse
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_REPOSITORY = Path(__file__).resolve().parents[1]


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parse(argv)
    commands = plan(arguments)
    if arguments.dry_run:
        print("\n".join(commands))
        return 0
    for command in commands:
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=_REPOSITORY, check=False)
        if done.returncode:
            print(f"train_remote.py: exit code {done.returncode} of: {command}", file=sys.stderr)
            return done.returncode
    return 0


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("host", help="as ssh knows it: name, user@address, or an entry of ~/.ssh/config")
    parser.add_argument(
        "--folder", default="mario-a3c", help="of the checkout there, below the home folder (mario-a3c)"
    )
    parser.add_argument(
        "--run-name", default="remote", help="of the run there; the same again goes on with it (remote)"
    )
    parser.add_argument("--shutdown", action="store_true", help="switch the machine off when the run has ended")
    parser.add_argument("--status", action="store_true", help="only say how the run stands")
    parser.add_argument("--fetch", action="store_true", help="only copy its folder trained_models to this one")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be executed here")
    argv = sys.argv[1:] if argv is None else list(argv)
    end = argv.index("--") if "--" in argv else len(argv)
    arguments = parser.parse_args(argv[:end])
    arguments.flags = argv[end + 1 :]
    return arguments


def plan(arguments: argparse.Namespace) -> list[str]:
    """What is executed on this machine, in turn."""
    folder, host = shlex.quote(arguments.folder), shlex.quote(arguments.host)

    def there(command: str) -> str:
        return f"ssh {host} {shlex.quote(command)}"

    if arguments.status:
        log = shlex.quote(f"{arguments.run_name}.log")
        return [there(f"cd {folder} && tail -n 3 {log}; ./mario status {shlex.quote(arguments.run_name)}")]
    if arguments.fetch:
        return [f"{there(f'tar -C {folder} -cz trained_models')} | tar -xz"]
    return [
        f"git ls-files -z | tar --null -T - -cz | {there(f'mkdir -p {folder} && tar -xz -C {folder}')}",
        there(f"cd {folder} && {start(arguments)}"),
    ]


def start(arguments: argparse.Namespace) -> str:
    """Detached from the connection; the log and the exit code stay beside the checkout."""
    name = arguments.run_name
    train = shlex.join(["./mario", "train", "--run-name", name, *arguments.flags])
    script = f"{train} > {shlex.quote(name + '.log')} 2>&1; echo $? > {shlex.quote(name + '.exit')}"
    if arguments.shutdown:
        script += "; sudo -n shutdown -h +1"
    return f"(nohup sh -c {shlex.quote(script)} > /dev/null 2>&1 < /dev/null &) && echo started"


if __name__ == "__main__":
    sys.exit(main())

"""The command line: list, run, attend, compare, generate, gallery; and the pages' worker."""

import argparse
import io
import json
import os
import sys
import tomllib
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from owi_core.assets import ASSETS
from owi_core.errors import OwiError, SettingError
from owi_core.untrusted import decimal_number

if TYPE_CHECKING:  # torch takes a second to import, and `list` and a mistake do not need it
    from owi_core.checkpoints import Bundle

EXIT_USER, EXIT_INTERRUPTED, EXIT_DIVERGED = 2, 130, 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0, 1 for a run that diverged, or 2 for a user's mistake."""
    _write_any_text()
    try:
        parsed = _parser().parse_args(arguments)
        return int(parsed.command(parsed))
    except OwiError as error:
        print(sentence(error), file=sys.stderr)
        return EXIT_USER
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone
        return 0


def sentence(error: OwiError) -> str:
    """Return the English sentence for an error, or its code and values where there is none."""
    try:
        catalog = tomllib.loads((ASSETS / "i18n/en/errors.toml").read_text(encoding="utf-8"))
        line = str(catalog["errors"][error.code]).format_map(error.values)
    except (OSError, KeyError, ValueError, TypeError):
        line = str(error)
    # Catalog sentences are wrapped over lines; an error message is one line.
    return _escaped(" ".join(line.split()))


def _escaped(text: str) -> str:
    """Write control characters as escapes: what was typed must not steer the terminal."""
    return "".join(_escape(c) if unicodedata.category(c) == "Cc" else c for c in text)


def _escape(character: str) -> str:
    return f"\\u{ord(character):04x}"  # as JSON has it


def _write_any_text() -> None:
    """Chinese into a pipe on Windows, half a surrogate pair out of a file name: both come out."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # backslashreplace: what the terminal cannot show is written as an escape, not refused.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line and no usage text."""

    def error(self, message: str) -> NoReturn:
        raise SettingError("command_line", message=message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m owi_core", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    listing = commands.add_parser("list", help="the experiments and their parameters")
    listing.set_defaults(command=_list)

    run = commands.add_parser("run", help="run an experiment; events as JSON lines")
    run.add_argument("experiment")
    run.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    run.add_argument("--save", type=Path, metavar="DIR", help="leave the model there")
    run.set_defaults(command=_run)

    attend = commands.add_parser("attend", help="one sentence: rows, answer, knock-out, checks")
    attend.add_argument("--text", required=True)
    attend.set_defaults(command=_attend)

    compare = commands.add_parser("compare", help="two sentences in one model")
    compare.add_argument("--a", required=True)
    compare.add_argument("--b", required=True)
    compare.set_defaults(command=_compare)
    for command in (attend, compare):
        command.add_argument("--query", help="the word that looks; default: the last pronoun")
        command.add_argument("--model", help="a shipped model's name or a folder; default: by text")

    generate = commands.add_parser("generate", help="continue a prompt")
    generate.add_argument("--prompt", required=True)
    generate.add_argument("--model", default="language", help="a shipped model's name or a folder")
    generate.add_argument("--temperature", type=_decimal, default=1.0)
    generate.add_argument("--top-k", type=int, default=0)
    generate.add_argument("--top-p", type=_decimal, default=1.0)
    generate.add_argument("--max-new-tokens", type=int, default=50)
    generate.add_argument("--seed", type=int, default=0)
    generate.add_argument("--no-cache", action="store_true", help="read the whole text each step")
    generate.set_defaults(command=_generate)

    gallery = commands.add_parser("gallery", help="measure the pictures of the home page's demos")
    gallery.set_defaults(command=_gallery)

    worker = commands.add_parser("worker", help="take one job from standard input")
    worker.add_argument("--nice", type=int, help="how far it steps back behind others")
    worker.set_defaults(command=_worker)
    return parser


def _decimal(text: str) -> float:
    """Read a number with a decimal point or a decimal comma; argparse reports the option."""
    number = decimal_number(text)
    if number is None:
        raise argparse.ArgumentTypeError(f"invalid number: {text!r}")
    return number


def _list(_: argparse.Namespace) -> int:
    from owi_core.experiments import EXPERIMENTS, parameters

    for experiment in EXPERIMENTS.values():
        print(experiment.name)
        for p in parameters(experiment.params):
            # Choices, or a range, or else the kind of value.
            allowed = ", ".join(p.choices) if p.choices else f"{p.low} … {p.high}"
            if not p.choices and p.low is None:
                allowed = p.kind.__name__
            default = "by choice" if p.default is None else repr(p.default)
            print(f"  {p.name} = {default}  ({allowed})  {p.meaning}")
    return 0


def _run(parsed: argparse.Namespace) -> int:
    from owi_core import experiments, process
    from owi_core.events import Diverged, to_json

    process.prepare_command()
    experiment = experiments.find(parsed.experiment)
    params = experiments.parse_params(experiment, _assignments(parsed.set))
    # A folder that cannot be written must be reported before minutes of training.
    if parsed.save is not None:
        _make_folder(parsed.save)
    # The exit code tells a script whether the model is usable; the events say why.
    diverged = False
    for event in experiment.run(params, parsed.save):
        print(to_json(event), flush=True)
        diverged = isinstance(event, Diverged)
    return EXIT_DIVERGED if diverged else 0


def _make_folder(folder: Path) -> None:
    """Make the folder before the training, not after it, that the model will be saved to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError("folder_not_made", name=str(folder)) from error
    if not os.access(folder, os.W_OK):
        raise SettingError("folder_not_made", name=str(folder))


def _attend(parsed: argparse.Namespace) -> int:
    from owi_core.readings import read

    bundle = _bundle(parsed.model, parsed.text)
    _print(read(bundle, parsed.text, parsed.query, limit=bundle.model.config.block_size).to_dict())
    return 0


def _compare(parsed: argparse.Namespace) -> int:
    from owi_core.comparison import Comparison
    from owi_core.readings import read

    bundle = _bundle(parsed.model, parsed.a, parsed.b)
    limit = bundle.model.config.block_size
    readings = [read(bundle, text, parsed.query, limit=limit) for text in (parsed.a, parsed.b)]
    _print(Comparison(*readings).to_dict())
    return 0


def _generate(parsed: argparse.Namespace) -> int:
    from owi_core.config import SamplingConfig
    from owi_core.generation import generate

    names = ("temperature", "top_k", "top_p", "max_new_tokens", "seed")
    sampling = SamplingConfig(**{name: getattr(parsed, name) for name in names})
    bundle = _bundle(parsed.model, parsed.prompt)
    prompt = bundle.tokenizer.encode(parsed.prompt)
    # Complete before anything is printed: an error halfway must not leave half a JSON object.
    drawn = list(generate(bundle.model, prompt.ids, sampling, cache=not parsed.no_cache))
    fields = ("id", "probability", "dropped", "u")
    tokens = [
        {"token": bundle.tokenizer.label(d.id)} | {name: getattr(d, name) for name in fields}
        for d in drawn
    ]
    text = bundle.tokenizer.decode([d.id for d in drawn])
    _print({"prompt": parsed.prompt, "continuation": text, "tokens": tokens})
    return 0


def _gallery(_: argparse.Namespace) -> int:
    from owi_core import demos

    for name, picture in demos.store().items():
        _print({"demo": name} | picture["told"])
    return 0


def _worker(parsed: argparse.Namespace) -> int:
    from owi_core.jobs import worker

    nice = worker.NICE if parsed.nice is None else parsed.nice
    worker.main(sys.stdin, sys.stdout, nice=nice)
    return 0


def _bundle(name: str | None, *texts: str) -> "Bundle":
    from owi_core import checkpoints, gallery

    if name is None:
        return checkpoints.shipped(gallery.model_for(*texts))
    # A folder of that name wins over a shipped model.
    return checkpoints.load(Path(name)) if Path(name).is_dir() else checkpoints.shipped(name)


def _assignments(pairs: Iterable[str]) -> dict[str, str]:
    values = {}
    for pair in pairs:
        # Only the first "=" separates: a value may hold others.
        name, equals, value = pair.partition("=")
        if not equals:
            raise SettingError("command_line", message=f"--set {pair}: write NAME=VALUE")
        values[name.strip()] = value
    return values


def _print(values: dict[str, Any]) -> None:
    # JSON escapes control characters up to U+001F only; a terminal obeys U+009B as well.
    print(_escaped(json.dumps(values, ensure_ascii=False, allow_nan=False)))


if __name__ == "__main__":
    sys.exit(main())

"""Run a notebook without a person: staged in the result folder, published when it has ended."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axnb.errors import AxnbError, NotebookError, UsageError
from axnb.notebook.execution import Limit, execute, noticed_signals
from axnb.notebook.kernel import Kernel
from axnb.notebook.parameters import declared, read_values, refuse_secrets
from axnb.notebook.staging import publish, staging
from axnb.result import EXIT_CODES, SIGNS, Verdict, to_json, write_file
from axnb.settings import SCRATCH_VARIABLE, STAGE_VARIABLE, Settings

#: Seconds that a run may take where nothing else is asked for.
TIMEOUT = 3600


@dataclass(frozen=True)
class Run:
    """A run that has ended: what its result says, and where it is."""

    folder: Path
    files: tuple[str, ...]
    verdict: Verdict
    #: Was `accept_inconclusive` set, and is that the verdict?
    accepted: bool

    @property
    def exit_code(self) -> int:
        """What a process returns for it."""
        return 0 if self.accepted else EXIT_CODES[self.verdict]

    @property
    def sentence(self) -> str:
        """The verdict, and where the result is."""
        verdict = f"{self.verdict}, which is accepted" if self.accepted else self.verdict
        files = ", ".join(self.files)
        return f"{SIGNS[self.verdict]} {verdict}: the result is in {self.folder} ({files})."


def run_notebook(
    notebook: Path,
    given: Mapping[str, Any],
    timeout: float = TIMEOUT,
    tell: Callable[[str], None] = lambda _: None,
) -> Run:
    """Run a notebook with parameters, as texts or as values of the declared types.

    The result folder is the parameter `out`. Raises UsageError before anything runs for a
    parameter that is not declared or does not fit, or if `out` is missing; the error of axnb that
    a cell raised; NotebookError if the notebook did not come to its end in `timeout` seconds;
    AxnbError if the folder is in use or cannot be written. Then the folder is as it was before.
    """
    limit = Limit(timeout)
    refuse_secrets(given)
    with ExitStack() as stack:
        events = stack.enter_context(noticed_signals())
        private = stack.enter_context(_private_folder())
        plain = _copy(notebook, private)
        chosen = _chosen(plain, notebook.name, given)
        folder = Path(chosen["out"])
        scratch = stack.enter_context(_private_folder(_scratch(chosen)))
        stage = stack.enter_context(staging(folder))
        _refuse_itself(notebook, folder)
        tell(f"{notebook} runs; its result goes to {folder}.")
        output = private / "out.ipynb"
        kernel = Kernel(private, _environment(stage, scratch))
        values = {name: value for name, value in chosen.items() if name in given}
        execute(plain, output, values, kernel, events, limit)
        verdict = _verdict(stage)
        _stage_notebook(output, stage / notebook.name, folder / notebook.name)
        files = publish(stage, folder)
    accepted = verdict == "inconclusive" and chosen.get("accept_inconclusive") is True
    return Run(folder, files, verdict, accepted)


def _chosen(plain: Path, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each parameter: the given one, or else the default."""
    known = declared(plain, name)
    chosen = {key: parameter.default for key, parameter in known.items()}
    chosen |= read_values(known, given, name)
    if "out" not in known or known["out"].kind != "str":
        raise UsageError(f"{name} has no parameter `out: str`, which names the result folder.")
    if not chosen["out"]:
        raise UsageError("say where the result goes: --out DIR.")
    return chosen


def _refuse_itself(notebook: Path, folder: Path) -> None:
    """The notebook as it ran would replace the notebook."""
    target = folder / notebook.name
    if target.exists() and target.samefile(notebook):
        raise UsageError(f"{notebook} lies in the result folder: name another one.")


def _scratch(chosen: Mapping[str, Any]) -> Path | None:
    """Where the settings of the run put private copies."""
    settings = chosen.get("settings")
    file = Path(settings) if settings and isinstance(settings, str) else None
    return Settings.read(file).scratch


@contextmanager
def _private_folder(parent: Path | None = None) -> Iterator[Path]:
    try:
        folder = Path(tempfile.mkdtemp(prefix="axnb-notebook-", dir=parent))
    except OSError as err:
        raise AxnbError(f"no folder for temporary files can be made: {err.strerror}.") from err
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _environment(stage: Path, scratch: Path) -> dict[str, str]:
    """What the kernel is told: where a result goes, and what is gone with the run."""
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP", SCRATCH_VARIABLE), str(scratch))
    return {**Settings().environment, **temporary, STAGE_VARIABLE: str(stage)}


def _copy(notebook: Path, private: Path) -> Path:
    """A copy of the notebook that nobody changes while it is checked and run."""
    try:
        content = notebook.read_bytes()
    except OSError as err:
        raise AxnbError(f"{notebook} cannot be read: {err.strerror}.") from err
    plain = private / "in.ipynb"
    try:
        plain.write_bytes(content)
    except OSError as err:
        raise AxnbError(f"a temporary file cannot be written: {err.strerror}.") from err
    return plain


def _verdict(stage: Path) -> Verdict:
    """The verdict of the result, which is in the file and not in the text of a cell."""
    try:
        result = json.loads((stage / "result.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotebookError("nothing was written: the notebook has left no result.") from None
    except (OSError, ValueError) as err:
        raise NotebookError("nothing was written: the result cannot be read.") from err
    for verdict in EXIT_CODES:
        if isinstance(result, dict) and result.get("verdict") == verdict:
            return verdict
    raise NotebookError("nothing was written: the result has no verdict.")


def _stage_notebook(output: Path, staged: Path, called: Path) -> None:
    """The notebook as it ran, without the folders of this machine and papermill's warnings."""
    try:
        notebook = json.loads(output.read_text(encoding="utf-8"))
    except OSError as err:
        raise AxnbError(f"the notebook cannot be read: {err.strerror}.") from err
    about = notebook["metadata"].get("papermill", {})
    about.update(input_path=called.name, output_path=called.name)
    # They stand in a cell of their own, as they were given.
    about.pop("parameters", None)
    notebook["cells"] = [
        cell
        for cell in notebook["cells"]
        if "papermill-error-cell-tag" not in cell["metadata"].get("tags", ())
    ]
    write_file(staged, to_json(notebook, indent=1) + "\n", called=called)

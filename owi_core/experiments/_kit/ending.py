"""How every run ends early: paused with its state kept, or stopped."""

from collections.abc import Callable
from pathlib import Path

from owi_core.events import Control, Paused, Stopped

Save = Callable[[Path], object]


def early_end(
    step: int,
    folder: Path | None,
    control: Control,
    *,
    save_state: Save | None = None,
    save_models: Save | None = None,
) -> Paused | Stopped:
    """Return the last event of a run that was asked to pause or to stop after `step` steps.

    save_models runs in both cases, so that a stopped run leaves models that can be read;
    save_state runs for a pause only.  Neither runs without a folder.
    """
    if folder is not None and save_models is not None:
        save_models(folder)
    if control.request != "pause":
        return Stopped(step)
    # Paused is the promise that the run can go on, so the state is written before it is reported.
    if folder is not None and save_state is not None:
        save_state(folder)
    return Paused(step)

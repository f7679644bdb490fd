"""Where a page looks: which sentence of two, which layer, and which head or the mean of all."""

from typing import Literal

from streamlit.delta_generator import DeltaGenerator

from pages._ui.base.i18n import Translator
from pages._ui.draw.forms import segments

Name = Literal["A", "B"]
SIDES: tuple[Name, Name] = ("A", "B")
Place = tuple[int, int | None]  # layer, and head or None for the mean
MEAN = -1  # of the heads, as a choice; None would mean that no choice was made


def choose_place(
    t: Translator,
    left: DeltaGenerator,
    right: DeltaGenerator,
    size: tuple[int, int],
    keys: tuple[str, str],
    usual_layer: int = 0,
) -> Place:
    """Draw the choices of layer and head and return what is kept under both keys.

    size: how many layers and heads there are.
    """
    n_layer, n_head = size
    layer_key, head_key = keys
    with left:
        layer = segments(
            t("layer"),
            range(n_layer),
            key=layer_key,
            usual=usual_layer,
            name=lambda index: str(index + 1),
        )
    with right:
        head = segments(
            t("head"),
            range(MEAN, n_head),
            key=head_key,
            usual=MEAN,
            name=lambda index: t("mean") if index == MEAN else str(index + 1),
        )
    return layer, None if head == MEAN else head

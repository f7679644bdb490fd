"""What the step page shows under its chain: proofs, a row as a distribution, shuffles, mistakes."""

from dataclasses import replace

import numpy as np
import streamlit as st

from owi_core.errors import OwiError
from owi_core.experiments.faults.attention import refusal, trials
from owi_core.figures import position_likeness
from owi_core.figures import position_table as positions_figure
from owi_core.gallery import ReadyPair, ready_pair
from owi_core.probes.rows import entropy_nats
from owi_core.probes.step import StepInputs, position_table, random_inputs, run_step
from owi_core.probes.step_checks import agreement, convolution_weights, moved, shuffled
from pages._labs.step.form import Shown
from pages._labs.step.text import figure, weighted_sum
from pages._ui.base.figure_text import figure_look
from pages._ui.base.i18n import error_text
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.code import show_code
from pages._ui.draw.components import WordRow, attention_matrix, sentence
from pages._ui.draw.forms import named_segments, segments, select, slider
from pages._ui.session.reading import reading_of
from pages._ui.session.state import keep

TOLERANCE = 1e-6
KERNEL = (0.25, 0.5, 0.25)
SECTIONS = ("row", "dynamic", "shuffle", "mistakes")
SECTION, QUERY, MISTAKE = "step.section", "step.query", "step.mistake"
POSITION = "step.position"
N_POSITIONS, N_DIMENSIONS = 32, 32
CODE = """import torch
from torch import nn
import torch.nn.functional as F
from owi_core.probes.step import random_inputs, run_step

given = random_inputs({seed}, {tokens}, {width}, {heads}, "{mask}")
x = torch.from_numpy(given.x)
W_Q, W_K, W_V, W_O = (torch.from_numpy(getattr(given, f"w_{{n}}")) for n in "qkvo")
mask, H = torch.from_numpy(given.mask), {heads}

# the step, in four lines
q, k, v = ((x @ W).view(len(x), H, -1).transpose(0, 1) for W in (W_Q, W_K, W_V))
scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
z = scores.softmax(dim=-1) @ v
out = z.transpose(0, 1).reshape(x.shape) @ W_O

# the same, twice more
fused = F.scaled_dot_product_attention(q, k, v, mask)
module = nn.MultiheadAttention(x.shape[1], H, bias=False, batch_first=True, dtype=x.dtype)
with torch.no_grad():
    module.in_proj_weight.copy_(torch.cat([W_Q.T, W_K.T, W_V.T]))
    module.out_proj.weight.copy_(W_O.T)
same, _ = module(x[None], x[None], x[None], attn_mask=~mask)
print(float((z - fused).abs().max()), float((out - same[0].detach()).abs().max()))
print(abs(run_step(given).z - z.numpy()).max())
"""


def summary(page: Frame, shown: Shown) -> None:
    """Write each output of the head as the sum it is, and prove the step by three other ways."""
    record, head = shown.record, shown.head
    if len(record.inputs.x) <= 6:
        rows = record.pattern[head].tolist()
        st.markdown("  \n".join(weighted_sum(i, row) for i, row in enumerate(rows)))
    found = agreement(record)
    values = {
        "rows": found.row_sum_error,
        "loops": found.z_by_hand_error,
        "sdpa": found.sdpa_error,
        "mha": found.mha_error,
    }
    proofs = [
        f"{'✓' if value <= TOLERANCE else '✗'} {page.t(f'proof.{name}', error=f'{value:.0e}')}"
        for name, value in values.items()
    ]
    st.caption(page.t("proof.label") + " " + " · ".join(proofs))


def code(page: Frame, shown: Shown) -> None:
    """Show the four lines of PyTorch, and the two that say the same."""
    origin = shown.board.origin
    if origin[0] != "numbers":
        return
    names = ("seed", "tokens", "width", "heads", "mask")
    show_code(page, CODE.format(**dict(zip(names, origin[1:], strict=True))))


def sections(page: Frame, shown: Shown) -> None:
    """Draw the chosen one of the looks at this step."""
    chosen = named_segments(page, "section", SECTIONS, SECTION)
    {"row": row, "dynamic": dynamic, "shuffle": shuffle, "mistakes": mistakes}[chosen](page, shown)


def row(page: Frame, shown: Shown) -> None:
    """Draw one row as a distribution."""
    T = len(shown.record.inputs.x)
    st.markdown(page.t("row.about"))
    query = _query(page, T)
    weights = shown.record.pattern[shown.head, query]
    allowed = shown.record.inputs.mask[query]
    labels = shown.board.labels
    sentence(page, labels, WordRow(weights, allowed.tolist(), query), key="step.row.words")
    flat = float(np.log(allowed.sum()))
    st.markdown(_entropy_line(page, weights, flat))


@st.fragment
def model_rows(page: Frame) -> None:
    """Draw the rows of an untrained model, of a clear sentence and of an ambiguous one."""
    st.subheader(page.t("row.models"), anchor=False)
    for name, pair in (("untrained", "untrained"), ("clear", "person"), ("ambiguous", "ambiguous")):
        ready = ready_pair(pair)
        if ready is not None:
            _model_row(page, name, ready)


def dynamic(page: Frame, shown: Shown) -> None:
    """Put two inputs through the same W and the same kernel; tell which weights moved."""
    st.markdown(page.t("dynamic.about"))
    first = shown.record.inputs
    second = replace(first, x=first.x[::-1] * np.array([1.0, -1.0] * (first.x.shape[1] // 2)))
    attention = [run_step(each).pattern[shown.head] for each in (first, second)]
    kernel = [convolution_weights(each.x, KERNEL) for each in (first, second)]
    labels = shown.board.labels
    for name, pair in (("attention", attention), ("convolution", kernel)):
        st.markdown(page.t(f"dynamic.{name}", change=f"{moved(*pair):.3f}"))
        for column, side, weights in zip(st.columns(2), "AB", pair, strict=True):
            with column:
                st.caption(page.t("dynamic.input", side=side))
                key = f"step.dynamic.{name}.{side}"
                attention_matrix(page, weights, labels, labels, key=key)
    changes = moved(*attention), moved(*kernel)
    code_ = "as_said" if changes[0] > 1e-3 and changes[1] < 1e-9 else "not_as_said"
    st.markdown(page.t(f"dynamic.{code_}"))


def shuffle(page: Frame, shown: Shown) -> None:
    """Shuffle the tokens, without and with positions, and say what happened to the outputs."""
    inputs = shown.record.inputs
    T = len(inputs.x)
    order = [*range(1, T), 0]
    found = shuffled(inputs, order)
    st.markdown(page.t("shuffle.about", order=" ".join(str(i + 1) for i in order)))
    for name, value in (("without", found.without_positions), ("with", found.with_positions)):
        held = "same" if value <= TOLERANCE else "other"
        st.markdown(page.t(f"shuffle.{name}_{held}", gap=f"{value:.2g}"))


@st.fragment
def position_pictures(page: Frame) -> None:
    """Draw the sinusoidal table and the likeness of its rows, with exact values at hand."""
    st.subheader(page.t("positions.title"), anchor=False)
    st.markdown(page.t("positions.about"))
    table = position_table(N_POSITIONS, N_DIMENSIONS)
    last = N_POSITIONS - 1
    at = slider(page.t("positions.row"), 0, last, key=POSITION, usual=0, width=420)
    st.markdown("` " + "  ".join(figure(float(value)) for value in table[at][:8]) + " … `")
    pictures = (
        positions_figure(table, **figure_look(page)),
        position_likeness(table, **figure_look(page)),
    )
    for column, name, picture in zip(st.columns(2), ("table", "likeness"), pictures, strict=True):
        with column:
            st.caption(page.t(f"positions.{name}"))
            chart(page, picture, key=f"step.positions.{name}")
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    near, far = float(unit[0] @ unit[1]), float(unit[0] @ unit[-1])
    found = "nearer" if near > far else "not_nearer"
    st.markdown(page.t(f"positions.{found}", near=f"{near:.2f}", far=f"{far:.2f}"))


def mistakes(page: Frame, shown: Shown) -> None:
    """Try the chosen mistake on the numbers of the board; its check must catch it."""
    inputs = _small(shown.record.inputs)
    tried = {trial.mistake: trial for trial in trials(inputs)}
    name = select(
        page.t("mistake.label"),
        list(tried),
        key=MISTAKE,
        usual=next(iter(tried)),
        name=page.t.each("mistake.{}.name"),
    )
    on = st.toggle(page.t("mistake.switch"), key=keep("step.mistake_on", True))
    trial = tried[name]
    outcome = trial.wrong if on else trial.right
    say = page.t(f"mistake.{name}.about")
    check = page.t(f"check.{outcome.check}", value=f"{outcome.value:.3g}")
    verdict = page.t("mistake.passed" if outcome.passed else "mistake.caught", check=check)
    (st.success if outcome.passed else st.warning)(verdict)
    st.markdown(say)
    if name == "split_with_rest":
        st.error(error_text(page.lang, refusal(inputs.x.shape[1])), icon=":material/block:")
    pattern = trial.wrong_pattern if on else trial.right_pattern
    labels = [str(i + 1) for i in range(len(pattern))]
    attention_matrix(page, pattern, labels, labels, key="step.mistake.matrix")


def _small(inputs: StepInputs) -> StepInputs:
    """Return inputs on which every mistake can be made: a wide model's own are not."""
    T, d = inputs.x.shape
    return inputs if d <= 8 and T <= 8 and inputs.bias is None else random_inputs(42)


def _query(page: Frame, T: int) -> int:
    return segments(page.t("row.query"), range(1, T + 1), key=QUERY, usual=T) - 1


def _entropy_line(page: Frame, weights: np.ndarray, flat: float) -> str:
    entropy = entropy_nats(np.asarray(weights, np.float32))
    share = entropy / flat if flat else 0.0
    shape = "sharp" if share < 0.25 else ("flat" if share > 0.95 else "between")
    return page.t(f"row.{shape}", entropy=f"{entropy:.3f}", flat=f"{flat:.3f}")


def _model_row(page: Frame, name: str, pair: ReadyPair) -> None:
    try:
        reading = reading_of(pair.model, pair.b, pair.query_b)
    except OwiError as error:
        st.error(error_text(page.lang, error), icon=":material/block:")
        return
    layer = reading.record.n_layer - 1
    weights = reading.record.row(reading.query, layer)
    seen = int(reading.record.mask[reading.query].sum())
    st.markdown(
        f"**{page.t(f'row.{name}')}** · {_entropy_line(page, weights, float(np.log(seen)))}"
    )
    sentence(page, reading.labels, WordRow.of(reading, weights), key=f"step.model_row.{name}")

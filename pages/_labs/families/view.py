"""How the families page shows a run: the table of the exams, the looks, and the 80/10/10 mix."""

import numpy as np
import pandas as pd
import streamlit as st

from owi_core.experiments.families.exams import CAUSAL, FAMILIES
from owi_core.experiments.families.results import EQUAL, EXAMS, Look, Result, best
from pages._ui.base.page import Frame
from pages._ui.draw.components import attention_matrix
from pages._ui.draw.forms import named_segments


def exams(page: Frame, result: Result) -> None:
    """Draw each family's share in each exam beside the grammar's bound, and say who is best."""
    st.subheader(page.t("exams.title"), anchor=False)
    columns = {page.t("exams.exam"): [page.t(f"exam.{exam}") for exam in EXAMS]}
    for family in FAMILIES:
        scores = result.models[family]
        columns[page.t(f"family.{family}")] = [f"{scores.share(exam):.1%}" for exam in EXAMS]
    for side in ("before", "around"):
        bounds = [result.bounds[exam] for exam in EXAMS]
        columns[page.t(f"exams.{side}")] = [
            page.t(
                "exams.bound",
                share=getattr(each, side),
                nats=getattr(each, f"{side}_entropy_nats"),
            )
            for each in bounds
        ]
    st.dataframe(pd.DataFrame(columns), hide_index=True)
    st.caption(page.t("exams.about"))
    for exam in EXAMS:
        st.markdown("- " + best_line(page, result, exam))
    for family in FAMILIES:
        scores = result.models[family]
        st.caption(
            page.t(
                "exams.size",
                name=page.t(f"family.{family}"),
                n_params=scores.n_params,
                seconds=scores.train_seconds,
            )
        )


def best_line(page: Frame, result: Result, exam: str) -> str:
    """Return which families do best in an exam, as measured."""
    found = best(result, exam)
    names = page.t("exams.and").join(page.t(f"family.{family}") for family in found)
    share = max(result.models[family].share(exam) for family in found)
    code = "all" if len(found) == len(FAMILIES) else "some"
    return page.t(f"best.{code}", exam=page.t(f"exam.{exam}"), names=names, share=share)


def looks(page: Frame, result: Result) -> None:
    """Draw the attention of each family on one sentence, side by side, and what each says."""
    st.subheader(page.t("looks.title"), anchor=False)
    read = named_segments(page, "read", tuple(result.looks), "families.read")
    st.caption(page.t("looks.about"))
    for family, column in zip(FAMILIES, st.columns(len(FAMILIES)), strict=True):
        with column:
            _one_look(page, family, result.looks[read][family], f"families.look.{read}.{family}")


def _one_look(page: Frame, family: str, look: Look, key: str) -> None:
    st.markdown(f"**{page.t(f'family.{family}')}**")
    said = page.t("looks.then").join(f"{guess.word} {guess.p:.2f}" for guess in look.guesses)
    st.markdown(page.t.markdown("looks.says", said=said))
    n = len(look.keys)
    attention_matrix(
        page,
        np.array(look.pattern, dtype=np.float64),
        look.keys,
        look.keys,
        # Which mask a family has is what the three maps are compared for.
        mask=np.tri(n, dtype=bool) if family == CAUSAL else np.ones((n, n), dtype=bool),
        selected=look.row,
        key=key,
    )
    st.caption(page.t(f"looks.{'elsewhere' if look.row is None else 'row'}"))


def mix(page: Frame, result: Result) -> None:
    """Draw what a masked model says of words that are not hidden, with the mix and without."""
    st.subheader(page.t("mix.title"), anchor=False)
    st.markdown(page.t("mix.about"))
    with_mix, without = result.corruption["mixed"], result.corruption["mask_only"]
    columns = {
        page.t("mix.model"): [page.t("mix.mixed"), page.t("mix.mask_only")],
        page.t("mix.repeats"): [f"{with_mix.repeats:.1%}", f"{without.repeats:.1%}"],
        page.t("mix.corrects"): [f"{with_mix.corrects:.1%}", f"{without.corrects:.1%}"],
    }
    st.dataframe(pd.DataFrame(columns), hide_index=True)
    gained = with_mix.repeats - without.repeats
    fixed = with_mix.corrects - without.corrects
    values = {"repeats": gained, "corrects": fixed}
    st.markdown(page.t(f"mix.{mix_code(gained, fixed)}", **values))


def mix_code(repeats: float, corrects: float) -> str:
    """Return which sentence two differences (with the mix minus without) deserve."""
    if min(repeats, corrects) > EQUAL:
        return "helps"
    return "helps_once" if max(repeats, corrects) > EQUAL else "no_gain"

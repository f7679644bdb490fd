"""What the projection page computes of a sentence: short passes on copies, each done once.

All of it belongs to one session: what one reader cuts, no other one sees.
"""

import streamlit as st

from owi_core.experiments import altered
from owi_core.experiments.altered import Altered, HeadEffects
from owi_core.probes.ablation import Head
from owi_core.probes.contributions import (
    Contributions,
    HeadWork,
    SumError,
    contributions,
    head_work,
    sum_errors,
)
from owi_core.readings import Reading

Place = tuple[str, str, int]  # which model, which text, the word that looks


def without(place: Place, reading: Reading, cut: tuple[Head, ...]) -> Altered:
    """Return the sentence with these heads switched off."""
    return _without(place, cut, reading)


def effects(place: Place, reading: Reading) -> HeadEffects:
    """Return what each head and each layer of heads is worth to the answer."""
    return _effects(place, reading)


def with_mistake(place: Place, reading: Reading, fault: str) -> Altered:
    """Return the sentence with one of the three mistakes made in the model."""
    return _with_mistake(place, fault, reading)


def parts(place: Place, reading: Reading, cut: tuple[Head, ...]) -> Contributions:
    """Return what each part writes at the word that looks; SettingError for a post-norm model."""
    return _parts(place, cut, reading)


def errors(place: Place, reading: Reading, cut: tuple[Head, ...]) -> tuple[SumError, ...]:
    """Return how far the slices' sum is from each layer's output."""
    return _errors(place, cut, reading)


def work(place: Place, reading: Reading, cut: tuple[Head, ...], layer: int) -> HeadWork:
    """Return what the heads of a layer look at, read and write."""
    return _work(place, cut, layer, reading)


@st.cache_resource(show_spinner=False, max_entries=8, scope="session")
def _without(place: Place, cut: tuple[Head, ...], _reading: Reading) -> Altered:
    return altered.without(_reading, cut)


@st.cache_resource(show_spinner=False, max_entries=8, scope="session")
def _effects(place: Place, _reading: Reading) -> HeadEffects:
    return altered.head_effects(_reading)


@st.cache_resource(show_spinner=False, max_entries=6, scope="session")
def _with_mistake(place: Place, fault: str, _reading: Reading) -> Altered:
    return altered.with_mistake(_reading, fault)


@st.cache_resource(show_spinner=False, max_entries=8, scope="session")
def _parts(place: Place, cut: tuple[Head, ...], _reading: Reading) -> Contributions:
    model = _without(place, cut, _reading).after.bundle.model
    return contributions(model, _reading.encoding.ids, _reading.query)


@st.cache_resource(show_spinner=False, max_entries=8, scope="session")
def _errors(place: Place, cut: tuple[Head, ...], _reading: Reading) -> tuple[SumError, ...]:
    model = _without(place, cut, _reading).after.bundle.model
    return sum_errors(model, _reading.encoding.ids)


@st.cache_resource(show_spinner=False, max_entries=16, scope="session")
def _work(place: Place, cut: tuple[Head, ...], layer: int, _reading: Reading) -> HeadWork:
    model = _without(place, cut, _reading).after.bundle.model
    return head_work(model, _reading.encoding.ids, layer, _reading.query)

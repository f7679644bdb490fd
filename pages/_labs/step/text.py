"""The arithmetic of one cell in symbols and in its real numbers, alike in any language."""

import math

from owi_core.probes.derivation import Cell, Derivation

SYMBOLS = {
    "x": "x", "w_q": "W_Q", "w_k": "W_K", "w_v": "W_V", "q": "q", "k": "k", "v": "v",
    "scores": "s", "scaled": "s′", "mask": "m", "masked": "s″", "pattern": "α", "z": "z",
    "concat": "c", "w_o": "W_O", "out": "o", "stream": "h", "resid": "r", "norm": "y",
}  # fmt: skip
MOST_TERMS = 8
_LOWERED = str.maketrans("0123456789,", "₀₁₂₃₄₅₆₇₈₉,")


def formula(derivation: Derivation) -> list[str]:
    """Return the lines: in symbols, then in numbers with the result."""
    if derivation.kind == "given":
        return [f"{symbol(derivation.cell)} = {figure(derivation.value)}"]
    symbols, numbers = _WRITTEN[derivation.kind](derivation)
    name = symbol(derivation.cell)
    return [f"{name} = {symbols}", f"{name} = {numbers} = {figure(derivation.value)}"]


def symbol(cell: Cell) -> str:
    """Return a cell's name with its place counted from 1, such as α₂,₁."""
    place = f"{cell.row + 1},{cell.column + 1}".translate(_LOWERED)
    return f"{SYMBOLS[cell.table]}{place}"


def figure(value: float) -> str:
    """Return a number with three digits behind the point, a true minus sign, and −∞."""
    if math.isinf(value):
        return "−∞"
    text = f"{value:.3f}".replace("-0.000", "0.000")
    return text.replace("-", "−")


def weighted_sum(row: int, weights: list[float]) -> str:
    """Return a whole output as a sum of value vectors: z₂ = 0.310·v₁ + 0.690·v₂."""
    terms = " + ".join(f"{figure(w)}·v{_low(j)}" for j, w in enumerate(weights) if w)
    return f"z{_low(row)} = {terms}"


def _low(index: int) -> str:
    return str(index + 1).translate(_LOWERED)


def _products(d: Derivation) -> tuple[str, str]:
    symbols = [f"{symbol(a[0])}·{symbol(b[0])}" for a, b in d.terms]
    numbers = [f"{figure(a[1])}·{_held(b[1])}" for a, b in d.terms]
    bias = dict(d.constants).get("bias")
    if bias is not None:
        symbols, numbers = [*_few(symbols), "b"], [*_few(numbers), _held(bias)]
    return _sum(symbols), _sum(numbers)


def _add(d: Derivation) -> tuple[str, str]:
    cells = [term[0] for term in d.terms]
    return _sum([symbol(c) for c, _ in cells]), _sum([_held(value) for _, value in cells])


def _divide(d: Derivation) -> tuple[str, str]:
    cell, value = d.terms[0][0]
    constants = dict(d.constants)
    cool = constants["temperature"]
    below = "√d_k" if cool == 1 else "(√d_k·τ)"
    number = figure(constants["root"]) if cool == 1 else f"({figure(constants['root'])}·{cool:g})"
    return f"{symbol(cell)} ÷ {below}", f"{figure(value)} ÷ {number}"


def _mask(d: Derivation) -> tuple[str, str]:
    (cell, value), (mask, allowed) = d.terms[0]
    gate = f"{symbol(mask)} = {'✓' if allowed else '✗'}"
    return f"{symbol(cell)} | {gate}", f"{figure(value)} | {gate}"


def _softmax(d: Derivation) -> tuple[str, str]:
    cells = [term[0] for term in d.terms]
    own = cells[int(dict(d.constants)["place"])]
    symbols = [f"e^{symbol(c)}" for c, _ in cells]
    numbers = [f"{_power(value)}" for _, value in cells]
    return (
        f"e^{symbol(own[0])} ÷ ({_sum(symbols)})",
        f"{_power(own[1])} ÷ ({_sum(numbers)})",
    )


def _norm(d: Derivation) -> tuple[str, str]:
    constants = dict(d.constants)
    cell, value = d.terms[int(constants["place"])][0]
    mean, deviation = constants["mean"], math.sqrt(constants["variance"] + 1e-5)
    return (
        f"({symbol(cell)} − μ) ÷ σ",
        f"({figure(value)} − {_held(mean)}) ÷ {figure(deviation)}",
    )


def _copy(d: Derivation) -> tuple[str, str]:
    cell, _ = d.terms[0][0]
    return symbol(cell), symbol(cell)


def _power(value: float) -> str:
    return figure(math.exp(value)) if math.isfinite(value) else "0"


def _held(value: float) -> str:
    text = figure(value)
    return f"({text})" if text.startswith("−") else text


def _sum(parts: list[str]) -> str:
    return " + ".join(_few(parts))


def _few(parts: list[str]) -> list[str]:
    """Return the first terms, and how many are left out."""
    if len(parts) <= MOST_TERMS + 2:
        return parts
    return [*parts[:MOST_TERMS], f"…({len(parts) - MOST_TERMS})"]


_WRITTEN = {
    "products": _products,
    "add": _add,
    "divide": _divide,
    "mask": _mask,
    "softmax": _softmax,
    "norm": _norm,
    "copy": _copy,
}

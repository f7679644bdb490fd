"""The choice of the model that reads a sentence, for labs that choose one by the text."""

from pages._ui.base.page import Frame
from pages._ui.draw.forms import select
from pages._ui.session.reading import model_names

AUTO = "auto"


def choose_model(page: Frame, key: str, automatic: str) -> str:
    """Draw the choice of a model; return its name.

    automatic: the model that fits the text, used until another one is chosen.
    """

    def name_of(name: str) -> str:
        if name == AUTO:
            return page.t("model.auto", name=name_of(automatic))
        return page.t(f"model.{name}") if page.t.has(f"model.{name}") else name

    chosen = select(page.t("model.label"), (AUTO, *model_names()), key=key, name=name_of)
    return automatic if chosen == AUTO else chosen

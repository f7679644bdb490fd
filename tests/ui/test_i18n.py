"""Catalogs: sentences, values, errors, and what is loud in tests but never a crash for a user."""

import pytest

from owi_core.errors import SettingError
from pages._ui.base import i18n
from pages._ui.base.i18n import error_text, translator


@pytest.fixture
def catalogs(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    for lang, hello in (("zh", "你好，{name}"), ("en", "hello, {name}")):
        folder = tmp_path / lang
        folder.mkdir()
        (folder / "demo.toml").write_text(
            f'hello = "{hello}"\n[deep]\nshare = "{{share:.2f}}"\n', encoding="utf-8"
        )
        (folder / "common.toml").write_text(
            'shared = "both"\n[error]\nno_sentence = "failed: {error}"\n', encoding="utf-8"
        )
        (folder / "errors.toml").write_text(
            '[errors]\ntoo_long = "{text} has {tokens} tokens, {limit} fit; leave out {words}"\n',
            encoding="utf-8",
        )
    monkeypatch.setattr(i18n, "CATALOGS", tmp_path)


@pytest.mark.usefixtures("catalogs")
class TestCatalogs:
    def test_sentence_is_found_by_dotted_key_and_filled(self) -> None:
        assert translator("zh", "demo")("hello", name="小明") == "你好，小明"
        assert translator("en", "demo")("deep.share", share=0.987) == "0.99"

    def test_page_catalog_falls_back_on_common(self) -> None:
        assert translator("en", "demo")("shared") == "both"

    def test_values_are_escaped_for_markdown_only(self) -> None:
        t = translator("en", "demo")
        assert t("hello", name="**b**") == "hello, **b**"
        assert t.markdown("hello", name="**b**") == r"hello, \*\*b\*\*"

    def test_error_tells_rule_value_and_lists_in_the_language(self) -> None:
        error = SettingError("too_long", text="$x$", tokens=91, limit=64, words=["甲", "乙"])
        assert error_text("zh", error) == r"\$x\$ has 91 tokens, 64 fit; leave out 甲、乙"
        assert error_text("en", error).endswith("leave out 甲, 乙")

    def test_missing_key_or_value_is_loud_in_tests(self) -> None:
        with pytest.raises(KeyError, match="nowhere"):
            translator("zh", "demo")("nowhere")
        with pytest.raises(KeyError, match="name"):
            translator("zh", "demo")("hello")

    def test_missing_key_or_value_is_no_crash_for_a_user(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OWI_STRICT_TEXT")
        t = translator("zh", "demo")
        assert t("nowhere") == "nowhere"
        assert t("hello") == "你好，…"
        assert t("deep.share") == "…"
        assert error_text("en", SettingError("unheard", a=1)).startswith("failed: unheard")


@pytest.mark.parametrize(("value", "shown"), [(-0.4, "−0.40"), (-0.001, "0.00"), (0.4, "+0.40")])
def test_a_sentence_shows_a_real_minus_and_no_sign_of_zero(value: float, shown: str) -> None:
    t = translator("en", "lessons")
    values = {"query": "it", "key": "x", "answer": "y", "before": 0.5, "after": 0.4}
    assert f"({shown} nats)" in t("measured.cut", **values, number=value)

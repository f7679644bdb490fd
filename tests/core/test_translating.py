"""Greedy and beam search, alignment and cuts against loops; the file; the GRU translators."""

from pathlib import Path

import pytest
import torch

from owi_core.corpora.translation import Pair, sentence_pairs
from owi_core.encoder_decoder import EncoderDecoder
from owi_core.errors import ModelFileError, TextError
from owi_core.experiments.translation.settings import Params, languages_of
from owi_core.recurrent_translation import RecurrentConfig, RecurrentTranslator, width_for
from owi_core.training import IGNORED, loss_nats
from owi_core.translating import (
    BOS,
    EOS,
    aligned,
    alignment,
    beam,
    cross_keys_bytes,
    cut_changes,
    encode_pairs,
    exact,
    greedy,
    self_keys_bytes,
)
from owi_core.translator_file import FILE_NAME, TranslatorBundle, load, save

LANGUAGES = languages_of("sentences")
PAIRS = sentence_pairs(0, 12, "train")


def untrained(seed: int = 0) -> EncoderDecoder:
    config = Params(d_model=16).model_config(LANGUAGES)
    return EncoderDecoder(config, torch.Generator().manual_seed(seed)).eval()


def recurrent(*, attention: bool) -> RecurrentTranslator:
    sizes = (LANGUAGES.source.vocab_size, LANGUAGES.target.vocab_size)
    config = RecurrentConfig(*sizes, 16, attention)
    return RecurrentTranslator(config, torch.Generator().manual_seed(0)).eval()


def test_targets_are_what_the_decoder_reads_one_place_later() -> None:
    data = encode_pairs(PAIRS, LANGUAGES)
    assert data.source is not None
    for ids, targets, pair in zip(data.ids, data.targets, PAIRS, strict=True):
        n = len(pair.target)
        assert ids[0] == BOS
        assert targets[n] == EOS
        assert torch.equal(ids[1 : n + 1], targets[:n])
        assert (targets[n + 1 :] == IGNORED).all()
        assert (ids[n + 1 :] == 0).all()


@torch.no_grad()
def test_greedy_with_a_cache_writes_what_whole_passes_write() -> None:
    model, data = untrained(), encode_pairs(PAIRS, LANGUAGES)
    assert data.source is not None
    for source, written in zip(data.source, greedy(model, data.source, 6), strict=True):
        ids = [BOS]
        for _ in range(7):
            ids.append(int(model(torch.tensor([ids]), source=source[None]).logits[0, -1].argmax()))
            if ids[-1] == EOS:
                break
        assert written == tuple(i for i in ids[1:] if i != EOS)


@torch.no_grad()
def test_beam_of_one_is_greedy_and_wider_beams_find_no_less() -> None:
    model, data = untrained(), encode_pairs(PAIRS[:3], LANGUAGES)
    assert data.source is not None
    for source in data.source[:, None]:
        (one,) = beam(model, source, 1, 5)
        three = beam(model, source, 3, 5)
        assert one.ids == greedy(model, source, 5)[0]
        assert len(three) == 3
        assert [t.log_p for t in three] == sorted((t.log_p for t in three), reverse=True)
        for found in three:  # its log p, counted again from one pass
            whole = torch.tensor([[BOS, *found.ids]])
            log_p = model(whole, source=source).logits[0].double().log_softmax(-1)
            words = [*found.ids, *([EOS] if found.ended else [])]
            total = sum(float(log_p[t, word]) for t, word in enumerate(words))
            assert found.log_p == pytest.approx(total, abs=1e-4)


@torch.no_grad()
def test_alignment_is_counted_as_by_hand() -> None:
    model = untrained()
    found = alignment(model, PAIRS, LANGUAGES)
    hits, mass, n = torch.zeros(2), torch.zeros(2), 0
    for pair in PAIRS:
        one = encode_pairs([pair], LANGUAGES)
        pattern = model(one.ids, source=one.source, explicit=True).cross_pattern[:, 0]  # (L, H, …)
        for t in aligned(pair):
            n += 1
            for layer in range(2):
                row = sum(head[t] for head in pattern[layer]) / len(pattern[layer])
                hits[layer] += int(row.argmax()) in pair.gold[t]
                mass[layer] += sum(float(row[i]) for i in pair.gold[t])
    assert found.words == n
    assert found.argmax == pytest.approx((hits / n).tolist(), abs=1e-6)
    assert found.mass == pytest.approx((mass / n).tolist(), abs=1e-5)


@torch.no_grad()
def test_cutting_measures_the_word_that_lost_its_source_and_the_others() -> None:
    model = untrained()
    pair = next(pair for pair in PAIRS if pair.frame == "want")
    own, others = cut_changes(model, pair, LANGUAGES)
    assert len(own) == len(aligned(pair)) == 3
    # 6 words and the end mark; 3 cuts, each of which leaves out what depends on the cut word.
    assert len(others) == 3 * 7 - 3
    one = encode_pairs([pair], LANGUAGES)
    visible = torch.ones(1, len(pair.source), dtype=torch.bool)
    first = sorted(pair.gold[t][0] for t in aligned(pair))[0]
    visible[0, first] = False
    t = next(t for t in aligned(pair) if pair.gold[t][0] == first)
    before, after = (
        model(one.ids, source=one.source, visible=v).logits[0, t].log_softmax(-1)
        for v in (None, visible)
    )
    word = int(one.targets[0, t])
    assert own[0] == pytest.approx(float(before[word] - after[word]), abs=1e-5)


def test_a_source_of_one_word_has_nothing_to_cut_out() -> None:
    lone = Pair(("零",), ("0",), ((0,),), (0,))
    assert cut_changes(untrained(), lone, languages_of("numbers")) == ([], [])


def test_a_word_outside_the_vocabulary_is_named() -> None:
    with pytest.raises(TextError) as failure:
        LANGUAGES.source.encode("小明想买大象")
    assert failure.value.code == "too_many_unknown_words"
    assert "大象" in failure.value.values["words"]


@torch.no_grad()
def test_keys_of_the_source_are_kept_once_and_those_of_words_grow() -> None:
    model = untrained()
    assert cross_keys_bytes(model, 10) == 2 * cross_keys_bytes(model, 5)
    cache = model.decoder.new_cache()
    memory, visible, _ = model.encode(torch.ones(1, 5, dtype=torch.long))
    keys = model.decoder.source_keys(memory, visible)
    model.decoder.write(torch.tensor([[BOS, 5, 6]]), keys, cache=cache)
    kept = sum(2 * c.length * model.config.decoder.d_model * 4 for c in cache)
    assert kept == 3 * self_keys_bytes(model)


def test_a_saved_translator_is_the_same_model(tmp_path: Path) -> None:
    model = untrained(3)
    path = save(TranslatorBundle(model, LANGUAGES, {"experiment": "translation"}), tmp_path)
    found = load(tmp_path)
    data = encode_pairs(PAIRS, LANGUAGES)
    again = found.model(data.ids, source=data.source).logits
    assert torch.equal(again, model(data.ids, source=data.source).logits)
    assert found.languages.source.words == LANGUAGES.source.words
    assert found.note["experiment"] == "translation"
    path.write_bytes(b"nothing")
    with pytest.raises(ModelFileError):
        load(tmp_path)
    (tmp_path / FILE_NAME).unlink()
    with pytest.raises(ModelFileError):
        load(tmp_path)


@pytest.mark.parametrize("attention", [True, False])
def test_a_recurrent_translator_reads_no_padding_and_no_future(attention: bool) -> None:
    model, data = recurrent(attention=attention), encode_pairs(PAIRS, LANGUAGES)
    assert data.source is not None
    logits = model(data.ids, source=data.source).logits
    for row in range(3):
        n = len(PAIRS[row].source)
        alone = model(data.ids[row : row + 1], source=data.source[row : row + 1, :n]).logits
        torch.testing.assert_close(alone[0], logits[row], atol=1e-5, rtol=0)
    later = data.ids.clone()
    later[:, 3] = 7
    changed = model(later, source=data.source).logits
    assert torch.equal(changed[:, :3], logits[:, :3])
    assert not torch.equal(changed[:, 3:], logits[:, 3:])


def test_additive_attention_gives_rows_that_sum_to_one_and_skip_padding() -> None:
    data = encode_pairs(PAIRS, LANGUAGES)
    assert data.source is not None
    pattern = recurrent(attention=True)(data.ids, source=data.source).cross_pattern
    torch.testing.assert_close(pattern.sum(-1), torch.ones(pattern.shape[:-1]))
    assert (pattern[0, :, 0].transpose(1, 2)[data.source == 0] == 0).all()


@pytest.mark.parametrize("attention", [True, False])
def test_recurrent_translators_are_about_as_large(attention: bool) -> None:
    width = width_for(50, 60, 500_000, attention=attention)
    config = RecurrentConfig(50, 60, width, attention)
    model = RecurrentTranslator(config, torch.Generator().manual_seed(0))
    assert model.n_params == pytest.approx(500_000, rel=0.05)


def test_an_untrained_model_translates_nothing_and_its_loss_is_that_of_a_guess() -> None:
    model = untrained()
    assert not any(exact(model, PAIRS, LANGUAGES))
    with torch.no_grad():
        loss = float(loss_nats(model, encode_pairs(PAIRS, LANGUAGES).take(torch.arange(12))))
    assert loss > torch.log(torch.tensor(LANGUAGES.target.vocab_size)) - 0.5

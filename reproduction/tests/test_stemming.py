"""The examples of Porter's paper, step by step and whole."""

import pytest

from reproduction import stemming
from reproduction.stemming import measure, stem

MEASURES = {0: "tr ee tree y by", 1: "trouble oats trees ivy", 2: "troubles private oaten orrery"}
STEP_1A = "caresses caress, ponies poni, ties ti, caress caress, cats cat"
STEP_1B = (
    "feed feed, agreed agree, plastered plaster, bled bled, motoring motor, sing sing, conflated conflate, "
    "troubled trouble, sized size, hopping hop, tanned tan, falling fall, hissing hiss, fizzed fizz, failing fail, "
    "filing file"
)
STEP_2 = (
    "relational relate, conditional condition, rational rational, valenci valence, hesitanci hesitance, "
    "digitizer digitize, conformabli conformable, radicalli radical, differentli different, vileli vile, "
    "analogousli analogous, vietnamization vietnamize, predication predicate, operator operate, feudalism feudal, "
    "decisiveness decisive, hopefulness hopeful, callousness callous, formaliti formal, sensitiviti sensitive, "
    "sensibiliti sensible"
)
STEP_3 = (
    "triplicate triplic, formative form, formalize formal, electriciti electric, electrical electric, hopeful hope, "
    "goodness good"
)
STEP_4 = (
    "revival reviv, allowance allow, inference infer, airliner airlin, gyroscopic gyroscop, adjustable adjust, "
    "defensible defens, irritant irrit, replacement replac, adjustment adjust, dependent depend, adoption adopt, "
    "homologou homolog, communism commun, activate activ, angulariti angular, homologous homolog, effective effect, "
    "bowdlerize bowdler"
)
STEP_5 = "probate probat, rate rate, cease ceas, controll control, roll roll"


def pairs(text):
    return [tuple(pair.split()) for pair in text.split(", ")]


@pytest.mark.parametrize("number", MEASURES)
def test_measure(number):
    assert {measure(word) for word in MEASURES[number].split()} == {number}


@pytest.mark.parametrize(
    ("step", "examples"),
    [
        (stemming._plurals, STEP_1A),
        (stemming._past_and_progressive, STEP_1B),
        (lambda word: stemming._replaced(word, stemming._STEP_2), STEP_2),
        (lambda word: stemming._replaced(word, stemming._STEP_3), STEP_3),
        (stemming._stripped, STEP_4),
        (stemming._tidied, STEP_5),
    ],
)
def test_examples_of_each_step(step, examples):
    assert [(word, step(word)) for word, _ in pairs(examples)] == pairs(examples)


def test_whole_words():
    expected = (
        "generalizations gener, oscillators oscil, connect connect, connected connect, connecting connect, "
        "connection connect, connections connect, happy happi, sky sky, relate relat, relativity rel, as as"
    )
    assert [(word, stem(word)) for word, _ in pairs(expected)] == pairs(expected)


def test_suffix_that_fits_longest_decides_alone():
    assert stem("element") == "element", "m is 1 before -ement; the shorter -ment and -ent are not tried"


@pytest.mark.parametrize("word", ["", "a", "y", "yy", "sss", "ing", "eed", "ies", "zzzz", "aeiou"])
def test_strange_words_have_stems(word):
    assert word.startswith(stem(word)[:1])

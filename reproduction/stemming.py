"""Stems of English words: Porter, An algorithm for suffix stripping, Program 14(3), 1980.

A word is [C](VC)^m[V], C and V runs of consonants and vowels; y is a vowel after a consonant. A suffix is replaced when
what is left of it, the stem, meets a condition, mostly on its measure m. Of each step's suffixes only the longest that
fits is looked at, whether its condition holds or not.
"""

from __future__ import annotations

import itertools

# Steps 2, 3 and 4 of the paper; in a step the longest suffix comes first where one ends with another.
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


def stem(word: str) -> str:
    """The stem of a word in lower case; words of one or two letters stay as they are.

    >>> [stem(word) for word in ("relational", "hopping", "generalizations", "sky")]
    ['relat', 'hop', 'gener', 'sky']
    """
    if len(word) <= 2:
        return word
    word = _plurals(word)
    word = _past_and_progressive(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    word = _stripped(word)
    return _tidied(word)


def _is_consonant(word: str, place: int) -> bool:
    if word[place] == "y":
        return place == 0 or not _is_consonant(word, place - 1)
    return word[place] not in "aeiou"


def measure(stem: str) -> int:
    """m of [C](VC)^m[V]: how often a consonant follows a vowel.

    >>> [measure(word) for word in ("tree", "by", "trouble", "oats", "troubles", "private")]
    [0, 0, 1, 1, 2, 2]
    """
    kinds = [_is_consonant(stem, place) for place in range(len(stem))]
    return sum(after and not before for before, after in itertools.pairwise(kinds))


def _has_vowel(stem: str) -> bool:
    return any(not _is_consonant(stem, place) for place in range(len(stem)))


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _is_consonant(word, len(word) - 1)


def _ends_short(word: str) -> bool:
    """Consonant, vowel, consonant other than w, x and y: the paper's *o."""
    end = len(word) - 1
    if end < 2 or word[-1] in "wxy":
        return False
    return _is_consonant(word, end) and not _is_consonant(word, end - 1) and _is_consonant(word, end - 2)


def _plurals(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_progressive(word: str) -> str:
    """Step 1b."""
    if word.endswith("eed"):
        return word[:-1] if measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            if not _has_vowel(stem):
                return word
            if stem.endswith(("at", "bl", "iz")):
                return stem + "e"
            if _ends_double(stem) and stem[-1] not in "lsz":
                return stem[:-1]
            return stem + "e" if measure(stem) == 1 and _ends_short(stem) else stem
    return word


def _longest(word: str, suffixes: tuple[str, ...] | dict[str, str]) -> str:
    return max((suffix for suffix in suffixes if word.endswith(suffix)), key=len, default="")


def _replaced(word: str, suffixes: dict[str, str]) -> str:
    """Steps 2 and 3: m > 0."""
    suffix = _longest(word, suffixes)
    if suffix and measure(word[: -len(suffix)]) > 0:
        return word[: -len(suffix)] + suffixes[suffix]
    return word


def _stripped(word: str) -> str:
    """Step 4: m > 1; -ion only after s or t."""
    suffix = _longest(word, _STEP_4)
    stem = word[: len(word) - len(suffix)]
    if not suffix or measure(stem) <= 1 or (suffix == "ion" and not stem.endswith(("s", "t"))):
        return word
    return stem


def _tidied(word: str) -> str:
    """Step 5."""
    if word.endswith("e"):
        stem = word[:-1]
        if measure(stem) > 1 or (measure(stem) == 1 and not _ends_short(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and measure(word[:-1]) > 1 else word

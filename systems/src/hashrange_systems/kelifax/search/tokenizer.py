"""Words of queries and documents: how a text is split, folded and cut into what the index stores.

The seed's scan asks whether `searchText` contains a word. A word has no white space, so it is contained exactly if a
suffix of one of the text's words begins with it: the index stores suffixes, and looks for prefixes.
"""

from __future__ import annotations

import re
import unicodedata
from operator import add

MAX_QUERY_LENGTH = 200
MAX_WORDS = 8  # of a query; further ones are ignored, which only adds hits
MAX_SUFFIX = 48  # characters of a stored suffix, and of a word of a query
SHORT = 2  # words of a query up to this length are looked up in a field of their own: they begin too many suffixes

PARTS = re.compile(r"[\W_]+")


def split_query(text: str) -> tuple[str, ...]:
    """Return the different words of a query in lower case, as the scan compares them."""
    words = (word[:MAX_SUFFIX] for word in text[:MAX_QUERY_LENGTH].lower().split())
    return tuple(dict.fromkeys(words))[:MAX_WORDS]


def fold(word: str) -> str:
    """Return a word without accents."""
    if word.isascii():
        return word
    return "".join(sign for sign in unicodedata.normalize("NFKD", word) if not unicodedata.combining(sign))


def split_words(text: str) -> set[str]:
    """Return the words of a text in lower case: as they are written, their parts, and all of them without accents."""
    tokens = set(text.lower().split())
    words = {token[:MAX_SUFFIX] for token in tokens}
    for token in tokens:
        if token.isascii() and token.isalnum():  # most are: nothing to fold, and no parts
            continue
        for form in {token, fold(token)}:
            words.add(form[:MAX_SUFFIX])
            words.update(part[:MAX_SUFFIX] for part in PARTS.split(form) if part)
    return words


def list_suffixes(text: str) -> set[str]:
    """Return the suffixes of the words of a text, long ones cut, each longer than SHORT."""
    return {form[start : start + MAX_SUFFIX] for form in list_forms(text) for start in range(max(0, len(form) - SHORT))}


def list_grams(text: str) -> set[str]:
    """Return each single character and each pair of characters of the words of a text."""
    grams: set[str] = set()
    for form in list_forms(text):
        grams.update(form)
        grams.update(map(add, form, form[1:]))
    return grams


def list_forms(text: str) -> set[str]:
    """Return the words of a text in lower case, as they are written and without accents."""
    tokens = set(text.lower().split())
    return tokens if text.isascii() else tokens | {fold(token) for token in tokens}

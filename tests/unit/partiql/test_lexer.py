"""Splitting statements into tokens."""

import pytest

from hashrange.partiql.lexer import MalformedStatement, TokenType, tokenize


def texts(statement):
    return [token.text for token in tokenize(statement)][:-1]


def marks(statement):
    return [str(token.span) for token in tokenize(statement)][:-1]


def test_keywords_are_lowered_and_names_are_kept_as_written():
    tokens = tokenize("Select Data From t")
    assert [(token.type, token.text) for token in tokens][:-1] == [
        (TokenType.KEYWORD, "select"),
        (TokenType.NAME, "Data"),
        (TokenType.KEYWORD, "from"),
        (TokenType.NAME, "t"),
    ]


def test_the_last_token_is_the_end():
    assert tokenize("a")[-1].type is TokenType.END
    assert tokenize("")[-1].type is TokenType.END


def test_doubled_quotes_stand_for_one():
    assert texts("""'it''s' "a""b" """) == ["it's", 'a"b']


def test_a_quoted_word_is_never_a_keyword():
    assert [token.type for token in tokenize('"select" "not" in')] == [
        TokenType.QUOTED,
        TokenType.QUOTED,
        TokenType.OPERATOR,
        TokenType.END,
    ]


@pytest.mark.parametrize("number", ["1", "1.5", ".5", "1.", "7.31e6", "7.31e+6", ".73e1", "73100000e-1"])
def test_numbers_may_lack_digits_before_or_after_the_point(number):
    (token, _end) = tokenize(number)
    assert (token.type, token.text) == (TokenType.NUMBER, number)


@pytest.mark.parametrize(
    "text",
    [
        "1e2147483648",
        "1e99999999999",
        "1.5e-2147483647",
        "1e",
        "1e+",
        "1e" + "9" * 5000,
        "'open",
        '"open',
        "`open",
        "# x",
    ],
)
def test_invalid_characters_are_refused_without_a_reason(text):
    with pytest.raises(MalformedStatement) as refusal:
        tokenize(text)
    assert refusal.value.message == "Statement wasn't well formed, can't be processed: "
    assert b'"com.amazon.coral.validate#ValidationException"' in refusal.value.body()


def test_the_largest_exponent_that_fits_32_bits_is_accepted():
    assert texts("1e2147483647 1.5e-2147483646") == ["1e2147483647", "1.5e-2147483646"]


def test_comments_are_blank():
    assert texts("a -- b\nc /* d\n e */ f --") == ["a", "c", "f"]


def test_a_comment_that_does_not_end_is_refused():
    with pytest.raises(MalformedStatement):
        tokenize("a /* b")


def test_keywords_of_two_words_are_one_token():
    assert texts("a NOT IN b IS  NOT c INSERT INTO d") == ["a", "not in", "b", "is not", "c", "insert into", "d"]


def test_the_longest_symbol_is_taken():
    assert texts("<<a>> <= >= <> != < >") == ["<<", "a", ">>", "<=", ">=", "<>", "<>", "<", ">"]


def test_a_span_is_line_column_and_length_with_the_quotes():
    assert marks("a \"bcd\"\n  'e'") == ["1:1:1", "1:3:5", "2:3:3"]


def test_every_kind_of_line_end_starts_a_line():
    assert marks("a\rb\r\nc\nd") == ["1:1:1", "2:1:1", "3:1:1", "4:1:1"]


def test_a_comment_counts_in_the_spans_after_it():
    assert marks("/* \n */ a") == ["2:5:1"]


def test_columns_count_characters_not_bytes():
    assert marks("'é😀' a") == ["1:1:4", "1:6:1"]

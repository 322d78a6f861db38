"""The keywords of PartiQL: reserved words, keywords of two words, names of types."""

from __future__ import annotations

RESERVED = frozenset(
    """
    absolute action add all allocate alter and any are as asc assertion at authorization avg bag begin between bit
    bit_length blob bool boolean by cascade cascaded case cast catalog char char_length character character_length
    check clob close coalesce collate collation column commit conflict connect connection constraint constraints
    continue convert corresponding count create cross current current_date current_time current_timestamp
    current_user cursor date date_add date_diff deallocate dec decimal declare default deferrable deferred delete
    desc describe descriptor diagnostics disconnect distinct do domain double drop else end escape except exception
    exec execute exists external extract false fetch first float for foreign found from full get global go goto
    grant group having identity immediate in index indicator initially inner input insensitive insert int integer
    intersect interval into is isolation join key language last left let level like limit list local lower match
    max min missing modified module names national natural nchar new next no not nothing null nullif numeric
    octet_length of old on only open option or order outer output overlaps pad partial pivot position precision
    prepare preserve primary prior privileges procedure public read real references relative remove restrict
    returning revoke right rollback rows schema scroll section select session session_user set sexp size smallint
    some space sql sqlcode sqlerror sqlstate string struct substring sum symbol system_user table temporary then
    time timestamp to transaction translate translation trim true tuple union unique unknown unpivot update upper
    usage user using value values varchar varying view when whenever where with work write zone
    """.split()  # noqa: SIM905 - a list literal would be a page long
)
OPERATORS = frozenset({"and", "or", "not", "is", "in", "between", "like", "union", "except", "intersect"})
CALLABLE = frozenset(
    """
    exists count avg max min sum char_length character_length octet_length bit_length upper lower size nullif
    coalesce substring
    """.split()  # noqa: SIM905 - a list literal would be a page long
)
AGGREGATES = frozenset({"count", "avg", "max", "min", "sum"})
SEPARATORS = frozenset({"as", "at", "by", "for", "asc", "desc"})
JOINS = frozenset({"join", "inner", "left", "right", "full", "outer", "cross", "natural"})
TWO_WORD_KEYWORDS = {
    ("not", "in"): "not in",
    ("is", "not"): "is not",
    ("not", "between"): "not between",
    ("not", "like"): "not like",
    ("insert", "into"): "insert into",
    ("modified", "old"): "modified old",
    ("modified", "new"): "modified new",
    ("all", "old"): "all old",
    ("all", "new"): "all new",
    ("double", "precision"): "double precision",
    ("character", "varying"): "character varying",
}
SUPPORTED_TYPES = {
    "missing": "MISSING",
    "null": "NULL",
    "bool": "BOOL",
    "boolean": "BOOL",
    "string": "S",
    "numeric": "N",
    "blob": "B",
    "struct": "M",
    "tuple": "M",
    "list": "L",
}
OTHER_TYPES = {
    "bag": "BAG",
    "char": "CHARACTER",
    "character": "CHARACTER",
    "character varying": "CHARACTER_VARYING",
    "clob": "CLOB",
    "date": "DATE",
    "dec": "DECIMAL",
    "decimal": "DECIMAL",
    "double precision": "DOUBLE_PRECISION",
    "float": "FLOAT",
    "int": "INTEGER",
    "int2": "SMALLINT",
    "int4": "INTEGER4",
    "int8": "INTEGER8",
    "integer": "INTEGER",
    "real": "REAL",
    "sexp": "SEXP",
    "smallint": "SMALLINT",
    "symbol": "SYMBOL",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "varchar": "CHARACTER_VARYING",
}

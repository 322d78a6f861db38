"""Adoption: the module that it writes declares the table as it is, and reads every item or names it."""

import importlib.util
import re
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import dump_item, load_item, sample
from hashrange.core.errors import PlanError
from hashrange.hosting.schema_module import find_patterns
from hashrange.provision import adopt, plan
from hashrange.provision.adopted_name import plural
from hashrange.provision.item_repair import roots_of
from hashrange.schema.declare import introspection
from hashrange_systems.aura.first import FirstAura
from hashrange_systems.aura.schema import Aura
from hashrange_systems.checks.schema import Checks
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.shuttle.schema import Operator, Shuttle
from tests.unit.provision.adopted_tables import DOCUMENTED, SYSTEMS, create, gsi, put

SCHEMAS = [Aura, FirstAura, Checks, Kelifax, Shuttle, Operator]
OWN: dict[str, list[Any]] = {
    "aura": [Aura],
    "first_aura": [FirstAura],
    "shuttle": [Operator, Shuttle],
    "kelifax": [Kelifax],
    "checks": [Checks],
}


def import_text(text, folder):
    """Import a module from its text, as a program would."""
    path = folder / "adopted_schema.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
    return module


def adopt_table(database, name, folder):
    text = adopt(database, name)
    return text, import_text(text, folder)


def scan(database, name):
    return database.call("Scan", {"TableName": name})["Items"]


def explain_all(module):
    return "\n".join(plan.explain() for patterns in find_patterns(module) for plan in patterns.plans.values())


# ── the documents of five systems ────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_module_declares_the_table_and_reads_every_item(database, system, tmp_path):
    for name in SYSTEMS[system](database):
        text, module = adopt_table(database, name, tmp_path)
        assert not plan(database, *find_patterns(module)), text
        for item in scan(database, name):
            assert load_item(roots_of(module.table), item) is not None, (item, text)
        assert "cannot be read" not in text
        assert "<- table" in explain_all(module)


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_was_read_is_written_back_unchanged(system, tmp_path):
    with hashrange.open() as database:
        for name in SYSTEMS[system](database):
            _, module = adopt_table(database, name, tmp_path)
            changed = {module.table.ttl} if module.table.former_ttl else set()  # in seconds from now on
            for item in scan(database, name):
                written = dump_item(load_item(roots_of(module.table), item))
                assert without(written, changed) == without(item, changed)


def without(item, attrs):
    """Return an item without attributes, and JSON texts without the spaces that json.dumps writes."""
    return {
        attr: {"S": value["S"].replace('": "', '":"').replace('", "', '","')} if '{"' in value.get("S", "") else value
        for attr, value in item.items()
        if attr not in attrs and value != {"NULL": True}
    }


def shapes_of(table):
    """Return the templates of each class, with its states, and without the names of fields."""
    found = set()
    for item in roots_of(table):
        for model in introspection.item_and_states(item):
            keys = {**introspection.keys(item), **introspection.keys(model)}
            blank = (
                (attr, re.sub(r"\{\w+(:fit)?\}", "{}", template.text))
                for attr, template in keys.items()
                if is_of_the_original(attr, table)
            )
            found.add(tuple(sorted(blank)))
    return found


ADDED_KEYS = {"publicFeed", "publicCategory", "publishedAt", "dueShard", "nextRunAt", "outboxShard", "sendAt", "owner"}


def is_of_the_original(attr, table):
    """Return whether a key attribute is one of the original's; in CHECK, createdAt is the key of an added index."""
    return attr not in ADDED_KEYS and (attr, table.physical_name) != ("createdAt", "CHECK")


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_templates_and_types_are_those_that_we_declared(system, tmp_path):
    declared = [table for patterns in OWN[system] for table in patterns.tables()]
    with hashrange.open() as database:
        for name in SYSTEMS[system](database):
            text, module = adopt_table(database, name, tmp_path)
            own = next(table for table in declared if table.physical_name == name or system == "first_aura")
            assert shapes_of(module.table) <= shapes_of(own), text
            assert (module.table.naming, module.table.unset) == (own.naming, own.unset)
            assert (module.table.ttl, module.table.former_ttl) in {(own.ttl, own.former_ttl), (None, None)}
            for attr, tag in tags_of(module.table).items():
                assert tag in {tags_of(own)[attr], ""}, (attr, text)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_documented_attribute_is_written_declared_and_ours_too(system, tmp_path):
    declared = [table for patterns in OWN[system] for table in patterns.tables()]
    with hashrange.open() as database:
        for name in SYSTEMS[system](database):
            documented = set(DOCUMENTED[name].split())
            assert {attr for item in scan(database, name) for attr in item} == documented
            _, module = adopt_table(database, name, tmp_path)
            own = next(table for table in declared if table.physical_name == name or system == "first_aura")
            for table in (module.table, own):
                assert documented <= {*tags_of(table), *table.key_names}


def tags_of(table):
    return {
        field.stored: field.codec.tag
        for item in roots_of(table)
        for variant in introspection.with_variants(item)
        for field in introspection.all_fields(variant).values()
        if not field.key_only
    }


def test_states_formats_and_units_are_found(tmp_path):
    with hashrange.open() as database:
        SYSTEMS["aura"](database)
        _, module = adopt_table(database, "aura-historia-data", tmp_path)
        [lifecycle, _] = introspection.lifecycles(module.Shop).values()
        assert {introspection.keys(state)["gsi2_sk"].text for state in lifecycle} == {
            "NEVER#",
            "DONE#{last_crawled_end}",
            "PROGRESS#{last_crawled_start}",
        }
        db = find_patterns(module)[0].open(database)
        assert {shop.domain for shop in db.never_last_crawled("DE")} == {
            f"shop{number}.example.com" for number in range(0, 12, 3)
        }
        assert len(db.all_of_domain("shop1.example.com").run()) == 4
        SYSTEMS["shuttle"](database)
        text = adopt(database, "InavorShuttle-dev-jobs")
        assert 'former_ttl="milliseconds"' in text
        assert "created_at: Millis\n" in text
        assert "started_at: Millis | None = None\n" in text
        assert "status: str  # found: COMPLETED, FAILED, PROCESSING, QUEUED" in text
        SYSTEMS["kelifax"](database)
        text = adopt(database, "kelifax-resources")
        for line in ('unset=""', "tags: Commas[str]", "key_features: Pipes[str]", "approved_at: IsoMicros | None"):
            assert line in text
        assert "learning_resources: JsonPipes[dict[str, Any]] = []" in text


# ── properties ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("patterns", SCHEMAS)
@settings(max_examples=6)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 4))
def test_sample_items_of_every_schema_are_read(patterns, seed, count, tmp_path_factory):
    with hashrange.open() as database:
        hashrange.create_tables(database, patterns)
        for item in sample(patterns, seed=seed, count=count):
            table = introspection.table_of(type(item))
            database.put_item(TableName=table.physical_name, Item=dump_item(item))
        for table in patterns.tables():
            text, module = adopt_table(database, table.physical_name, tmp_path_factory.mktemp("adopted"))
            assert not plan(database, module.table), text
            for item in scan(database, table.physical_name):
                assert load_item(roots_of(module.table), item) is not None, (item, text)


COLLIDING = [
    "A#",
    "A#x",
    "A#x#y",
    "A#x#",
    "A",
    "B",
    "META",
    "META#",
    "A#2026-01-01",
    "A#001",
    "x",
    "x#1",
    "y#2",
    "#",
    "{a}",
]
KEYS = st.one_of(st.sampled_from(COLLIDING), st.text("AB#az1:- ", min_size=1, max_size=12))
TEXTS = st.sampled_from(["", "A", "a,b", "x|y", "2026-01-01T00:00:00Z", "2026-01-01", "007", "T#1", '{"a":1}', '"\n\\'])
VALUES = st.one_of(
    TEXTS,
    KEYS,
    st.integers(-5, 2_000_000_000_000),
    st.booleans(),
    st.none(),
    st.binary(max_size=3),
    st.lists(st.one_of(TEXTS, st.integers(0, 3)), max_size=3),
    st.dictionaries(st.sampled_from(["a", "b c"]), TEXTS, max_size=2),
    st.sets(st.integers(0, 5), min_size=1, max_size=3),
)
NAMES = st.sampled_from(
    [
        "date",
        "class",
        "createdAt",
        "model_config",
        "json",
        "a b",
        "1st",
        "_x",
        "é",
        'q"\n',
        "total",
        "set",
        "gsi1_pk",
        "self",
    ]
)
ITEMS = st.fixed_dictionaries({"pk": KEYS, "sk": KEYS}).flatmap(
    lambda keys: st.dictionaries(NAMES, VALUES, max_size=5).map(lambda more: {**more, **keys})
)


@settings(max_examples=60)
@given(items=st.lists(ITEMS, min_size=1, max_size=12), has_sort_key=st.booleans())
def test_every_item_of_any_table_is_read_or_named(items, has_sort_key, tmp_path_factory):
    with hashrange.open() as database:
        keys = ["pk", "sk"] if has_sort_key else ["pk"]
        create(database, "any", keys, [gsi("ByFirst", "gsi1_pk", "sk" if has_sort_key else None)])
        for item in items:
            if not isinstance(item.get("gsi1_pk"), str) or not item["gsi1_pk"]:
                item.pop("gsi1_pk", None)
        put(database, "any", items)
        text, module = adopt_table(database, "any", tmp_path_factory.mktemp("adopted"))
        assert not plan(database, module.table), text
        unread = 0
        for item in scan(database, "any"):
            try:
                unread += load_item(roots_of(module.table), item) is None
            except hashrange.Unreadable:
                unread += 1
        named = re.search(r"# (\d+) items? cannot be read", text)
        assert unread == (int(named[1]) if named else 0), text


# ── comments ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_damaged_items_are_named_and_do_not_change_the_type_of_the_others(database, tmp_path):
    create(database, "orders", ["pk"])
    put(database, "orders", [{"pk": f"ORDER#{number}", "total": number} for number in range(150)])
    put(database, "orders", [{"pk": "ORDER#bad", "total": "12 EUR"}])
    text, module = adopt_table(database, "orders", tmp_path)
    assert "total: int  # damaged values: 150 N, 1 S" in text
    assert "# 1 item cannot be read as declared here:\n# - pk='ORDER#bad' in orders: " in text
    assert load_item([module.Order], {"pk": {"S": "ORDER#7"}, "total": {"N": "7"}}).total == 7


def test_a_value_of_several_types_is_marked_by_a_comment(database):
    create(database, "orders", ["pk"])
    put(database, "orders", [{"pk": "ORDER#1", "note": 1}, {"pk": "ORDER#2", "note": "one"}])
    assert "note: Any  # stored with several types: " in adopt(database, "orders")


def test_a_literal_needs_many_values(database):
    create(database, "orders", ["pk"])
    put(database, "orders", [{"pk": f"ORDER#{n}", "kind": ("NEW", "PAID")[n % 2]} for n in range(60)])
    assert 'kind: Literal["NEW", "PAID"]  # the values of the sample' in adopt(database, "orders")
    assert "kind: str  # found: NEW, PAID" in adopt(database, "orders", sample=20)


def test_a_plain_key_beside_prefixes_gets_a_pattern(database, tmp_path):
    create(database, "things", ["slug"])
    put(database, "things", [{"slug": "tool"}, {"slug": "HOLD#tool", "by": "ann"}])
    text, module = adopt_table(database, "things", tmp_path)
    assert 'slug: Annotated[str, Field(pattern="^[^#]*$")]' in text
    assert type(load_item(roots_of(module.table), {"slug": {"S": "HOLD#x"}, "by": {"S": "b"}})) is module.Hold


def test_padded_numbers_periods_and_hashes_in_keys_are_found(database):
    create(database, "orders", ["pk", "sk"])
    items = [
        {"pk": f"MONTH#2026-0{n + 1}", "sk": f"ORDER#{n:06d}#{n + 5:03d}", "at": f"2026-0{n + 1}-01T00:00:00Z", "n": n}
        for n in range(5)
    ]
    put(database, "orders", items)
    text = adopt(database, "orders")
    assert 'pk="MONTH#{at:month}", sk="ORDER#{n:06d}#{part:03d}"' in text
    assert "part: Key[int]" in text


def test_other_fields_that_fit_in_a_key_are_named(database):
    create(database, "orders", ["pk"], [gsi("ByMonth", "gsi1pk", "pk")])
    for n in range(1, 8):
        days = {"due": f"2027-0{n}-20T10:00:00Z", "placed": f"2027-0{n}-10T10:00:00Z", "gsi1pk": f"MONTH#2027-0{n}"}
        put(database, "orders", [{"pk": f"ORDER#{n}", "id": str(n), "twin": str(n), **days}])
    text = adopt(database, "orders")
    assert 'gsi1pk="MONTH#{due:month}"' in text
    assert "# pk: twin fits as well as id\n" in text
    assert "# gsi1pk: placed fits as well as due\n" in text
    late = {"due": "2028-01-02T10:00:00Z", "placed": "2027-12-31T10:00:00Z", "gsi1pk": "MONTH#2027-12"}
    put(database, "orders", [{"pk": "ORDER#8", "id": "8", "twin": "7", **late}])
    assert 'gsi1pk="MONTH#{placed:month}"' in adopt(database, "orders")
    assert "fits as well" not in adopt(database, "orders")


def test_constant_index_keys_epoch_seconds_and_several_forms_of_one_key(database):
    create(database, "app", ["PK", "SK"], [gsi("GSI1", "GSI1PK", "GSI1SK")])
    for number in range(6):
        user = {"PK": f"USER#{number}", "SK": "PROFILE", "email": f"u{number}@x", "lastTs": 1700000000 + number}
        put(database, "app", [{**user, "GSI1PK": "USERS", "GSI1SK": f"u{number}@x", "format": 1700000000}])
        put(database, "app", [{"PK": f"USER#{number}", "SK": f"ORDER#{number:04}{tail}"} for tail in ("", "#ITEM#a")])
    text = adopt(database, "app")
    assert 'SK="PROFILE", GSI1PK="USERS", GSI1SK="{email}"' in text
    assert "last_ts: Seconds\n" in text
    assert "format: int\n" in text
    assert "# SK has several forms, perhaps of several classes: 'ORDER#000" in text


def test_an_empty_table_and_attributes_that_no_item_has(database, tmp_path):
    create(database, "empty", ["id", "at"], [gsi("ByShop", "shop", "n")], numbers={"at", "n"}, ttl="expires")
    text, module = adopt_table(database, "empty", tmp_path)
    assert not plan(database, module.table)
    assert "The table has no items" in text
    assert "expires: Ttl | None = None  # no item of the sample has it" in text


def test_options_of_a_table_are_declared(tmp_path):
    with hashrange.open() as database:
        database.create_table(
            TableName="options",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "B"} for name in ("pk", "sk", "other-key")],
            LocalSecondaryIndexes=[
                {
                    "IndexName": "Local",
                    "KeySchema": [
                        {"AttributeName": "pk", "KeyType": "HASH"},
                        {"AttributeName": "other-key", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["extra"]},
                }
            ],
            ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
            DeletionProtectionEnabled=True,
            Tags=[{"Key": "team", "Value": "a-b"}],
        )
        put(database, "options", [{"pk": b"1", "sk": b"2", "other-key": b"3"}])
        text, module = adopt_table(database, "options", tmp_path)
        assert not plan(database, module.table), text
        assert 'Lsi("Local", "pk", "other-key", ["extra"])' in text


def test_a_table_that_does_not_exist_and_an_empty_sample_are_refused(database):
    with pytest.raises(PlanError, match="There is no table nothing"):
        adopt(database, "nothing")
    with pytest.raises(PlanError, match="at least 1"):
        adopt(database, "nothing", sample=0)


def test_a_sample_is_of_every_segment_and_says_that_it_is_one(database):
    create(database, "orders", ["pk"])
    put(database, "orders", [{"pk": f"ORDER#{number}"} for number in range(200)])
    text = adopt(database, "orders", sample=100)
    assert "as adopted from 100 of its items" in text
    assert "# Only 100 items were read" in text


def test_a_pattern_whose_name_every_patterns_class_has_gets_another(database, tmp_path):
    create(database, "web", ["pk"])
    put(database, "web", [{"pk": f"SESSION#{n}x", "user": f"u{n}"} for n in range(30)])
    put(database, "web", [{"pk": f"PLAN#{n}x", "price": n} for n in range(30)])
    _, module = adopt_table(database, "web", tmp_path)
    assert set(module.WebPatterns.plans) == {"get_session", "get_plan"}


def test_integers_in_partition_keys_are_integers_and_in_sort_keys_text(database, tmp_path):
    create(database, "users", ["pk", "sk"], [gsi("ByShard", "shard_pk", "shard_sk"), gsi("Alone", "alone_pk", "sk")])
    numbers = [0, 7, 10, 123, -5]
    put(
        database,
        "users",
        [
            {
                "pk": f"USER#{n}",
                "sk": "META",
                "userId": n,
                "shard_pk": f"S#{n}",
                "shard_sk": f"S#{n}",
                "alone_pk": f"{n}",
            }
            for n in numbers
        ],
    )
    put(database, "users", [{"pk": f"USER#{n}", "sk": f"ORDER#o{n}", "shard_pk": f"S#{n}"} for n in numbers])
    put(database, "users", [{"pk": f"CODE#{text}", "sk": "CODE"} for text in ("01", "2", "3")])
    text, module = adopt_table(database, "users", tmp_path)
    assert 'pk="USER#{user_id}", sk="META"' in text
    assert 'pk="USER#{user}", sk="ORDER#{order}"' in text
    assert "    user: Key[int]\n    order: Key[str]\n" in text
    assert 'shard_pk="S#{user_id}"' in text
    assert 'shard_pk="S#{user}"' in text
    assert "    code: Key[str]\n" in text
    assert "cannot be read" not in text
    for item in scan(database, "users"):
        assert dump_item(load_item(roots_of(module.table), item)) == item


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("event", "events"),
        ("events", "all_events"),
        ("article2", "articles2"),
        ("status", "statuses"),
        ("box", "boxes"),
    ],
)
def test_the_plural_of_a_noun_is_a_word(noun, expected):
    assert plural(noun) == expected

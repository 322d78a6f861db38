"""PynamoDB: a model with an index, conditions, a transaction and a batch."""

import secrets

import pytest
from pynamodb.attributes import MapAttribute, NumberAttribute, UnicodeAttribute, UnicodeSetAttribute, VersionAttribute
from pynamodb.connection import Connection
from pynamodb.exceptions import PutError, TransactWriteError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite


class Address(MapAttribute):
    street = UnicodeAttribute()
    number = NumberAttribute()


class ByShelf(GlobalSecondaryIndex):
    class Meta:
        index_name = "by-shelf"
        projection = AllProjection()

    shelf = UnicodeAttribute(hash_key=True)
    year = NumberAttribute(range_key=True)


class Book(Model):
    class Meta:
        table_name = f"pynamodb-{secrets.token_hex(4)}"
        region = "eu-west-2"
        billing_mode = "PAY_PER_REQUEST"
        aws_access_key_id = "local"
        aws_secret_access_key = "local"

    author = UnicodeAttribute(hash_key=True)
    title = UnicodeAttribute(range_key=True)
    shelf = UnicodeAttribute(null=True)
    year = NumberAttribute(null=True)
    tags = UnicodeSetAttribute(null=True)
    address = Address(null=True)
    version = VersionAttribute()
    by_shelf = ByShelf()


@pytest.fixture
def books(server_url):
    Book.Meta.host = server_url  # type: ignore[attr-defined]
    Book.create_table(wait=True)
    yield Book
    Book.delete_table()


def test_a_model_is_saved_found_and_changed(books):
    book = books("Eco", "Baudolino", shelf="a", year=2000, tags={"x"}, address=Address(street="Via", number=1))
    book.save()
    found = books.get("Eco", "Baudolino")
    assert (found.year, found.tags, found.address.street, found.version) == (2000, {"x"}, "Via", 1)
    found.update(actions=[books.year.set(2001), books.tags.add({"y"})], condition=books.year == 2000)
    found.refresh()
    assert (found.year, found.tags, found.version) == (2001, {"x", "y"}, 2)


def test_an_old_version_cannot_overwrite_a_newer_one(books):
    books("Eco", "Numero Zero").save()
    one, two = books.get("Eco", "Numero Zero"), books.get("Eco", "Numero Zero")
    one.save()
    with pytest.raises(PutError) as caught:
        two.save()
    assert caught.value.cause_response_code == "ConditionalCheckFailedException"


def test_queries_page_through_table_and_index(books):
    with books.batch_write() as batch:
        for year in range(1950, 1990):
            batch.save(books("Eco", f"Book {year}", shelf="b", year=year))
    assert len(list(books.query("Eco", books.title.startswith("Book 197"), limit=3, page_size=2))) == 3
    found = [book.year for book in books.by_shelf.query("b", books.year > 1980, page_size=4, scan_index_forward=False)]
    assert found == list(range(1989, 1980, -1))
    assert books.count("Eco", filter_condition=books.year < 1960) == 10


def test_a_transaction_is_all_or_nothing(books, server_url):
    connection = Connection(region="eu-west-2", host=server_url)
    connection.session.set_credentials("local", "local")
    books("Eco", "There").save()
    transaction = TransactWrite(connection=connection)
    transaction.save(books("Eco", "New"))
    transaction.delete(books("Eco", "There"), condition=books.year == 1)
    with pytest.raises(TransactWriteError) as caught:
        transaction._commit()
    codes = [reason and reason.code for reason in caught.value.cancellation_reasons]
    assert codes == ["ConditionalCheckFailed", None]  # PynamoDB sends deletes before puts
    with pytest.raises(books.DoesNotExist):
        books.get("Eco", "New")

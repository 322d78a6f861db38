"""One table of products."""

from typing import Protocol

from hashrange import Get, Item, Patterns, Query, Table

products = Table("products", "pk", "sk")


class Product(Item, table=products, pk="SHOP#{shop}", sk="PRODUCT#{name}"):
    shop: str
    name: str


class Products(Patterns, Protocol):
    def product(self, shop: str, name: str) -> Get[Product]: ...
    def products(self, shop: str) -> Query[Product]: ...

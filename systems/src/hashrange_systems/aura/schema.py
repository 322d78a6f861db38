"""Aura Historia: antique shops, their crawls and scrapes, and the URLs found in them."""

from datetime import datetime
from typing import Annotated, Literal, Protocol

from pydantic import Field, StringConstraints

from hashrange import (
    KEYS_ONLY,
    Add,
    Between,
    Delete,
    Discard,
    Eq,
    Formerly,
    Ge,
    Get,
    Gsi,
    Item,
    Key,
    Latest,
    Le,
    Once,
    OpenList,
    Patterns,
    Prefixed,
    Query,
    Scan,
    Table,
    Update,
    Upsert,
    View,
    initially,
    where,
)
from hashrange_systems.aura.model.page_type import PageType, ProductState

table = Table("${DYNAMODB_TABLE_NAME:-aura-historia-data}", "pk", "sk", indexes=[
    Gsi("ProductTypeIndex", "gsi1_pk", "gsi1_sk"),
    Gsi("CountryLastCrawledIndex", "gsi2_pk", "gsi2_sk", ["domain", "last_crawled_start", "last_crawled_end"]),
    Gsi("CountryLastScrapedIndex", "gsi3_pk", "gsi3_sk",
        ["domain", "last_scraped_start", "last_scraped_end", "last_crawled_end"]),
    Gsi("CoreDomainNameIndex", "gsi4_pk", "gsi4_sk", KEYS_ONLY),
], stream="NEW_AND_OLD_IMAGES")

# "DE" here, "COUNTRY#DE" stored; "ZZ" when unknown, so that every shop is in its indexes
Country = Annotated[str, Prefixed("COUNTRY#", upper=True), StringConstraints(to_upper=True, pattern="^[A-Za-z]{2}$")]
Currency = Annotated[str, Field(pattern="^[A-Z]{3}$")]
# The first deployment stored the state here too, and an end only for DONE#.
End = Annotated[datetime, Formerly("DONE#", nothing=("NEVER#", "PROGRESS#"))]
ShopType = Literal["AUCTION_HOUSE", "AUCTION_PLATFORM", "COMMERCIAL_DEALER", "MARKETPLACE"]


class Crawl(View["Shop"]):
    """The crawl of a shop: NEVER -> PROGRESS -> DONE, as GSI2 holds it."""

    domain: str

class NeverCrawled(Crawl, gsi2_sk="NEVER#"): ...

class Crawling(Crawl, gsi2_sk="PROGRESS#{last_crawled_start}"):
    last_crawled_start: datetime
    last_crawled_end: End | None = None  # of the crawl before

class Crawled(Crawl, gsi2_sk="DONE#{last_crawled_end}"):
    last_crawled_start: datetime | None = None  # the first deployment's index does not hold it
    last_crawled_end: End

class LeasedCrawl(Crawling):
    """A crawl with the lease of its worker, who alone may extend or end it; the index only shows Crawling."""

    crawl_owner: str
    crawl_lease_until: datetime


class Scrape(View["Shop"]):
    """The scrape of a shop, as GSI3 holds it."""

    domain: str

class NeverScraped(Scrape, gsi3_sk="NEVER#"): ...

class Scraping(Scrape, gsi3_sk="PROGRESS#{last_scraped_start}"):
    last_scraped_start: datetime
    last_scraped_end: End | None = None  # of the scrape before

class Scraped(Scrape, gsi3_sk="DONE#{last_scraped_end}"):
    last_scraped_start: datetime | None = None
    last_scraped_end: End

class LeasedScrape(Scraping):
    """A scrape with the lease of its worker, who alone may extend or end it."""

    scrape_owner: str
    scrape_lease_until: datetime


class Shop(Item, table=table, pk="SHOP#{domain}", sk="META#",
           gsi2_pk="{shop_country}", gsi3_pk="{shop_country}", gsi4_pk="{core_domain_name}", gsi4_sk="{domain}"):
    domain: str
    core_domain_name: str | None = None  # a shop that an update without condition made has none
    shop_name: str | None = None
    shop_image: str | None = None
    shop_type: OpenList[ShopType] | None = None  # also of the first deployment: a new one costs no shop
    shop_country: Country = "ZZ"
    crawl: NeverCrawled | Crawling | Crawled = initially(NeverCrawled)
    scrape: NeverScraped | Scraping | Scraped = initially(NeverScraped)
    crawl_attempts: int = 0  # crawls started since one was finished
    scrape_attempts: int = 0
    last_crawl_error: str | None = None
    last_scrape_error: str | None = None
    standards_used: list[str] | None = None
    crawl_retry_at: datetime | None = None  # after a failure
    scrape_retry_at: datetime | None = None
    start_url: str | None = None  # where the crawl begins, if that is not https://<domain>/
    registered_at: datetime | None = None

class RelatedShop(View[Shop]):
    core_domain_name: str
    domain: str


class Url(Item, table=table, pk="SHOP#{domain}", sk="URL#{url:fit}", gsi1_pk="SHOP#{domain}", gsi1_sk="{type}"):
    domain: Key[str]
    url: str
    type: OpenList[PageType] = "other"  # the first deployment named products only
    hash: str | None = None  # of the price and state last recorded: see model.change_hash
    state: ProductState | None = None
    price_minor: int | None = None
    currency: Currency | None = None
    title: str | None = None
    standards_used: list[str] | None = None
    first_seen: datetime | None = None
    last_seen: datetime | None = None
    http_status: int | None = None
    etag: str | None = None
    last_modified: str | None = None  # as the shop's server wrote it, to be sent back
    missing_count: int = 0  # consecutive visits that did not find it
    product_number: str | None = None  # the shop's own, or the lot number
    description: str | None = None
    images: list[str] | None = None
    language: str | None = None
    lot: str | None = None
    estimate_min_minor: int | None = None
    estimate_max_minor: int | None = None
    sale_at: str | None = None
    hammer_minor: int | None = None
    withdrawn: bool | None = None
    scraped_at: datetime | None = None
    scraped_etag: str | None = None  # of the page that was scraped; the crawl may have seen a newer one
    scraped_modified: str | None = None
    scraped_with: str | None = None  # the shop's own selectors that it was read with

class Product(Url):
    type: Literal["product"] = "product"

class Price(Item, table=table, pk="SHOP#{domain}", sk="HIST#{url:sha}#{at}"):
    domain: Key[str]
    url: str
    at: datetime
    state: ProductState
    price_minor: int | None = None  # "price on request"
    currency: Currency | None = None

class Countries(Item, table=table, pk="COUNTRIES", sk="META#"):
    """The countries that have shops: the partitions of GSI2 and GSI3."""

    countries: set[str]


# The first deployment's ends hold states ("DONE#..."), its indexes lack last_scraped_end, its times do not compare with
# ours. A crawl that ended inside a running scrape is after the scrape's start, so both its times count.
crawl_done = ("(attribute_exists(last_crawled_end) AND NOT begins_with(last_crawled_end, 'NEVER#')"
              " AND NOT begins_with(last_crawled_end, 'PROGRESS#'))")
new_pages = where("attribute_not_exists(last_scraped_end) OR begins_with(last_scraped_end, 'DONE#')"
                  " OR (begins_with(last_crawled_end, '2')"
                  " AND (last_crawled_end > last_scraped_end OR last_crawled_end > last_scraped_start))")
first_crawl = where("attribute_not_exists(last_crawled_end) OR begins_with(last_crawled_end, 'PROGRESS#')"
                    " OR begins_with(last_crawled_end, 'NEVER#')")
first_scrape = where("attribute_not_exists(last_scraped_end) OR begins_with(last_scraped_end, 'PROGRESS#')"
                     " OR begins_with(last_scraped_end, 'NEVER#')")
abandoned = where("attribute_not_exists(crawl_lease_until) OR crawl_lease_until < {now}")
abandoned_scrape = where("attribute_not_exists(scrape_lease_until) OR scrape_lease_until < {now}")
# The steps of a worker compare the owner only: the lease that it holds was extended since it was read.
crawl_owner_only = where("crawl_owner = {crawl_owner}")
scrape_owner_only = where("scrape_owner = {scrape_owner}")


class Aura(Patterns, Protocol):
    def shop(self, domain: str) -> Get[Shop]: ...
    def url(self, domain: str, url: str) -> Get[Url]: ...
    def site(self, domain: str) -> Query[Shop | Url | Price]: ...
    def urls(self, domain: str) -> Query[Url]: ...
    def pages(self, domain: str, type: PageType | str) -> Query[Url]: ...
    def products(self, domain: str) -> Query[Product]: ...
    def prices(self, domain: str, url: str) -> Latest[Price]: ...
    def related(self, core_domain_name: str) -> Query[RelatedShop]: ...
    def countries(self) -> Get[Countries]: ...

    def shops_in(self, shop_country: str) -> Query[NeverCrawled | Crawling | Crawled]: ...
    def never_crawled(self, shop_country: str) -> Query[NeverCrawled]: ...
    def crawling(self, shop_country: str) -> Query[Crawling]: ...
    def stuck_crawls(self, shop_country: str, last_crawled_start: Le[datetime]) -> Query[Crawling]: ...
    def crawled(self, shop_country: str, last_crawled_end: Le[datetime]) -> Query[Crawled]: ...
    def crawled_between(self, shop_country: str, last_crawled_end: Between[datetime]) -> Query[Crawled]: ...
    def crawl_due(self, shop_country: str, last_crawled_end: Le[datetime]) -> Query[NeverCrawled | Crawled]: ...

    @where(crawl_done)
    def never_scraped(self, shop_country: str) -> Query[NeverScraped]: ...
    def scraping(self, shop_country: str) -> Query[Scraping]: ...
    def stuck_scrapes(self, shop_country: str, last_scraped_start: Le[datetime]) -> Query[Scraping]: ...
    @new_pages
    def scraped(self, shop_country: str, last_scraped_end: Le[datetime]) -> Query[Scraped]: ...
    def scraped_between(self, shop_country: str, last_scraped_end: Between[datetime]) -> Query[Scraped]: ...

    def start_crawl(self, crawl: NeverCrawled | Crawled, last_crawled_start: datetime, crawl_owner: str,
                    crawl_lease_until: datetime, crawl_attempts: Add[int] = ...) -> Update[LeasedCrawl]: ...
    @abandoned
    def take_crawl(self, crawl: Crawling, now: datetime, last_crawled_start: datetime, crawl_owner: str,
                   crawl_lease_until: datetime, crawl_attempts: Add[int] = ...) -> Update[LeasedCrawl]: ...
    @crawl_owner_only
    def extend_crawl(self, crawl: Crawling, crawl_lease_until: datetime, crawl_owner: str) -> Update[LeasedCrawl]: ...
    @crawl_owner_only
    def release_crawl(self, crawl: Crawling, crawl_lease_until: datetime, crawl_owner: str,
                      crawl_attempts: Add[int]) -> Update[LeasedCrawl]: ...
    def finish_crawl(self, crawl: Crawling, last_crawled_end: datetime, crawl_owner: Eq[str],
                     crawl_attempts: None = None, last_crawl_error: None = None,
                     crawl_retry_at: None = None) -> Update[Crawled]: ...
    @first_crawl
    def fail_first_crawl(self, crawl: Crawling, last_crawl_error: str, crawl_owner: Eq[str],
                         crawl_retry_at: datetime = ...) -> Update[NeverCrawled]: ...
    def fail_crawl(self, crawl: Crawling, last_crawl_error: str, last_crawled_end: datetime,
                   crawl_owner: Eq[str], crawl_retry_at: datetime = ...) -> Update[Crawled]: ...
    @abandoned
    @first_crawl
    def forget_crawl(self, crawl: Crawling, now: datetime, last_crawl_error: str) -> Update[NeverCrawled]: ...
    @abandoned
    def revert_crawl(self, crawl: Crawling, now: datetime, last_crawl_error: str,
                     last_crawled_end: datetime) -> Update[Crawled]: ...

    def start_scrape(self, scrape: NeverScraped, crawl: Crawled, last_scraped_start: datetime, scrape_owner: str,
                     scrape_lease_until: datetime, scrape_attempts: Add[int] = ...) -> Update[LeasedScrape]: ...
    @new_pages
    def restart_scrape(self, scrape: Scraped, crawl: Crawled, last_scraped_start: datetime, scrape_owner: str,
                       scrape_lease_until: datetime, scrape_attempts: Add[int] = ...) -> Update[LeasedScrape]: ...
    @abandoned_scrape
    def take_scrape(self, scrape: Scraping, now: datetime, last_scraped_start: datetime, scrape_owner: str,
                    scrape_lease_until: datetime, scrape_attempts: Add[int] = ...) -> Update[LeasedScrape]: ...
    @scrape_owner_only
    def extend_scrape(self, scrape: Scraping, scrape_lease_until: datetime,
                      scrape_owner: str) -> Update[LeasedScrape]: ...
    @scrape_owner_only
    def release_scrape(self, scrape: Scraping, scrape_lease_until: datetime, scrape_owner: str,
                       scrape_attempts: Add[int]) -> Update[LeasedScrape]: ...
    def finish_scrape(self, scrape: Scraping, last_scraped_end: datetime, scrape_owner: Eq[str],
                      scrape_attempts: None = None, last_scrape_error: None = None,
                      scrape_retry_at: None = None) -> Update[Scraped]: ...
    @first_scrape
    def fail_first_scrape(self, scrape: Scraping, last_scrape_error: str, scrape_owner: Eq[str],
                          scrape_retry_at: datetime = ...) -> Update[NeverScraped]: ...
    def fail_scrape(self, scrape: Scraping, last_scrape_error: str, last_scraped_end: datetime,
                    scrape_owner: Eq[str], scrape_retry_at: datetime = ...) -> Update[Scraped]: ...
    @abandoned_scrape
    @first_scrape
    def forget_scrape(self, scrape: Scraping, now: datetime, last_scrape_error: str) -> Update[NeverScraped]: ...
    @abandoned_scrape
    def revert_scrape(self, scrape: Scraping, now: datetime, last_scrape_error: str,
                      last_scraped_end: datetime) -> Update[Scraped]: ...

    def mark_seen(self, domain: str, url: str, type: PageType, last_seen: datetime, first_seen: Once[datetime],
                  missing_count: None = None) -> Upsert[Url]: ...
    def record_visit(self, domain: str, url: str, type: PageType, last_seen: datetime, first_seen: Once[datetime],
                     http_status: int, etag: str | None, last_modified: str | None, standards_used: list[str] | None,
                     title: str | None = ..., missing_count: None = None) -> Upsert[Url]: ...
    def record_unchanged(self, domain: str, url: str, last_seen: datetime, http_status: int,
                         missing_count: None = None) -> Update[Url]: ...
    def record_missing(self, domain: str, url: str, http_status: int, missing_count: Add[int]) -> Update[Url]: ...
    def record_product(self, url: Url, scraped_at: datetime, http_status: int, title: str | None,
                       description: str | None, images: list[str] | None, language: str | None,
                       product_number: str | None, lot: str | None, estimate_min_minor: int | None,
                       estimate_max_minor: int | None, sale_at: str | None, hammer_minor: int | None,
                       withdrawn: bool | None, standards_used: list[str] | None, scraped_etag: str | None,
                       scraped_modified: str | None, scraped_with: str | None,
                       missing_count: None = None) -> Update[Url]: ...
    def record_scrape(self, url: Url, scraped_at: datetime, http_status: int) -> Update[Url]: ...
    def drop(self, domain: str, url: str) -> Delete[Url]: ...
    def drop_missing(self, domain: str, url: str, missing_count: Ge[int]) -> Delete[Url]: ...
    @where("attribute_not_exists(hash) OR hash <> {hash}")
    def reprice(self, url: Url, hash: str, state: ProductState, price_minor: int | None,
                currency: str | None) -> Update[Url]: ...
    @where("attribute_not_exists(state)")  # the hash of another program
    def rehash(self, url: Url, hash: str, state: ProductState, price_minor: int | None,
               currency: str | None) -> Update[Url]: ...

    def rename(self, domain: str, shop_name: str) -> Update[Shop]: ...
    def update_details(self, domain: str, shop_image: str = ..., shop_type: ShopType = ...,
                       standards_used: list[str] = ..., start_url: str = ...) -> Update[Shop]: ...
    def move(self, domain: str, shop_country: str) -> Update[Shop]: ...
    def complete(self, shop: Shop, core_domain_name: str | None, shop_country: str) -> Update[Shop]: ...
    def add_countries(self, countries: Add[set[str]]) -> Upsert[Countries]: ...
    def drop_countries(self, countries: Discard[str]) -> Update[Countries]: ...
    def shops(self) -> Scan[Shop]: ...
    def unregister(self, domain: str) -> Delete[Shop]: ...

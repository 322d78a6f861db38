"""A fake of eBay's search: the same listings in four layouts and as JSON of the API, and pages without listings."""

import json
from dataclasses import dataclass

from hashrange_systems.checks.model.fetch_result import PageResponse


@dataclass(frozen=True)
class Listing:
    title: str
    price: str
    shipping: str = ""
    was: str = ""
    number: int = 225_000_000_001

    @property
    def link(self):
        return f"https://www.ebay.com/itm/{self.number}?hash=item34"


PLACEHOLDER = Listing("Shop on eBay", "$20.00", number=123456)


def write_when(text, html):
    """An optional part of a card."""
    return html if text else ""


def write_s_item(listing):
    price = listing.price.replace(" to ", '<span class="DEFAULT"> to </span>')
    was = f'<span class="s-item__trending-price">Was: <span class="STRIKETHROUGH">{listing.was}</span></span>'
    shipping = f'<span class="s-item__shipping s-item__logisticsCost">{listing.shipping}</span>'
    return f"""
    <li class="s-item s-item__pl-on-bottom"><div class="s-item__wrapper clearfix"><div class="s-item__info clearfix">
      <a class="s-item__link" href="{listing.link}"><div class="s-item__title"><span role="heading"
        ><span class="LIGHT_HIGHLIGHT">New Listing</span>{listing.title}</span></div></a>
      <div class="s-item__details clearfix">
        <div class="s-item__detail"><span class="s-item__price">{price}</span>{write_when(listing.was, was)}</div>
        <div class="s-item__detail">{write_when(listing.shipping, shipping)}</div>
        <div class="s-item__detail"><span class="s-item__location">from United States</span></div>
      </div></div></div></li>"""


def write_s_card(listing):
    parts = listing.price.replace(" to ", "| to |").split("|")
    prices = "".join(f'<span class="su-styled-text primary bold large-1 s-card__price">{part}</span>' for part in parts)
    was = f'<span class="su-styled-text strikethrough s-card__price">{listing.was}</span>'
    return f"""
    <li class="s-card s-card--horizontal" data-listingid="{listing.number}"><div class="su-card-container">
      <div class="su-card-container__header"><a class="s-card__link" href="{listing.link}"><div class="s-card__title">
        <span class="su-styled-text primary default">{listing.title}</span>
        <span class="clipped">Opens in a new window or tab</span>
      </div></a><div class="s-card__subtitle">Brand New</div></div>
      <div class="su-card-container__attributes__primary">
        <div class="s-card__attribute-row">{prices} {write_when(listing.was, was)}</div>
        <div class="s-card__attribute-row">or Best Offer</div>
        <div class="s-card__attribute-row"><span class="su-styled-text">{listing.shipping}</span></div>
        <div class="s-card__attribute-row">seller_1 99.3% positive (460)</div>
      </div></div></li>"""


def write_search_evo(listing):
    was = f'<span class="su-item-card__price strikethrough">{listing.was}</span>'
    return f"""
    <li class="su-grid__item"><div class="su-item-card s-item-card s-item-card--search-evo">
      <div class="su-item-card__header"><a class="su-link su-item-card__title" href="{listing.link}"
        ><span class="su-styled-text" role="heading">{listing.title}</span></a>
        <div class="su-item-card__subtitle">Pre-Owned</div></div>
      <div class="su-item-card__price-container"><span class="su-item-card__price">{listing.price}</span>
        {write_when(listing.was, was)}</div>
      <div class="su-card-container__attributes__primary"><span>Buy It Now</span><span>{listing.shipping}</span></div>
    </div></li>"""


def write_browse_river(listing):
    was = f'<span class="bsig__price--displayprice strikethrough">{listing.was}</span>'
    return f"""
    <li class="brwrvr__item-card brwrvr__item-card--list"><div class="brwrvr__item-card__body">
      <a class="bsig__title" href="{listing.link}"><h3 class="bsig__title__text">{listing.title}</h3></a>
      <div class="bsig__price"><span class="bsig__price--displayprice">{listing.price}</span>
        {write_when(listing.was, was)}</div>
      <span class="bsig__generic bsig__logisticsCost">{listing.shipping}</span>
    </div></li>"""


LAYOUTS = {
    "s-item": write_s_item,
    "s-card": write_s_card,
    "search-evo": write_search_evo,
    "browse-river": write_browse_river,
}
FEWER_WORDS = '<li class="srp-river-answer srp-river-answer--REWRITE_START"><h2>Results matching fewer words</h2></li>'


def write_page(layout, listings, *, fewer_words=(), count=None):
    """A search page: the placeholder first, as eBay has it, then the listings, then those for fewer words."""
    write = LAYOUTS[layout]
    cards = [write(listing) for listing in (PLACEHOLDER, *listings)]
    cards += [FEWER_WORDS, *map(write, fewer_words)] if fewer_words else []
    shown = len(listings) if count is None else count
    return PageResponse(
        status=200,
        body=f"""<!doctype html><html><head><title>desk lamp for sale | eBay</title></head><body>
        <h1 class="srp-controls__count-heading"><span class="BOLD">{shown}</span> results for desk lamp 60</h1>
        <ul class="srp-results srp-list clearfix">{"".join(cards)}</ul></body></html>""",
    )


def write_empty_page():
    """The page of a search that found nothing."""
    return PageResponse(
        status=200,
        body="""<html><head><title>xyzzy for sale | eBay</title></head><body>
        <div class="srp-save-null-search"><h3 class="srp-save-null-search__heading">No exact matches found</h3></div>
        </body></html>""",
    )


def write_block_page(status=200):
    """The page that robots receive."""
    return PageResponse(
        status=status,
        body="""<html><head><title>Pardon Our Interruption...</title></head><body><h1>Pardon Our Interruption...</h1>
        <p>As you were browsing something about your browser made us think you were a bot.</p></body></html>""",
    )


def write_unknown_page():
    """An unknown layout."""
    return PageResponse(
        status=200,
        body="""<html><head><title>desk lamp for sale | eBay</title></head><body>
        <article class="xo-tile"><h2>Desk lamp</h2><b>$1.00</b></article></body></html>""",
    )


def write_api(listings, total=None):
    """The Browse API's answer; each listing is (title, price, currency, costs of shipping, *buying options)."""
    summaries = [
        {
            "itemId": f"v1|{number}|0",
            "title": title,
            "price": {"value": price, "currency": currency},
            "shippingOptions": [
                {"shippingCostType": "FIXED", "shippingCost": {"value": cost, "currency": currency}}
                if cost
                else {"shippingCostType": "CALCULATED"}
                for cost in shipping
            ],
            "buyingOptions": list(buying),
            "itemWebUrl": f"https://www.ebay.com/itm/{number}",
        }
        for number, (title, price, currency, shipping, *buying) in enumerate(listings)
    ]
    document = {"href": "https://api.ebay.com/", "total": len(summaries) if total is None else total, "limit": 50}
    return PageResponse(status=200, body=json.dumps(document | ({"itemSummaries": summaries} if summaries else {})))

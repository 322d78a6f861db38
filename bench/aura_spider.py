"""The same crawl with Scrapy, run by its own interpreter: `python aura_spider.py URL DIRECTORY AT_ONCE`.

It obeys robots.txt, follows every link of the host, reads the JSON-LD of each page, keeps its queue on disk (JOBDIR, so
that it could be resumed, as ours can) and writes one line for each page.
"""

import json
import resource
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor


class ShopSpider(scrapy.Spider):
    """Visits every page of one host."""

    name = "shop"

    def __init__(self, url, **options):
        super().__init__(**options)
        self.start_urls = [url]
        self.allowed_domains = [urlsplit(url).hostname]
        self.links = LinkExtractor()
        self.pages = 0

    def parse(self, response):
        """Read a page, and follow its links."""
        self.pages += 1
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "products": list(read_products(response)),
        }
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)


def read_products(response):
    """Yield the products in the JSON-LD of a page."""
    for text in response.css('script[type="application/ld+json"]::text').getall():
        try:
            data = json.loads(text)
        except ValueError:
            continue
        if data.get("@type") == "Product":
            offer = data.get("offers", {})
            yield {"name": data.get("name"), "price": offer.get("price"), "state": offer.get("availability")}


def main(url, directory, at_once):
    """Crawl, and print one line of JSON."""
    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": at_once,
            "CONCURRENT_REQUESTS_PER_DOMAIN": at_once,
            "DOWNLOAD_DELAY": 0,
            "JOBDIR": f"{directory}/job",
            "FEEDS": {f"{directory}/pages.jsonl": {"format": "jsonlines"}},
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    crawler = process.create_crawler(ShopSpider)
    process.crawl(crawler, url=url)
    began = time.perf_counter()
    process.start()
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    pages = Path(f"{directory}/pages.jsonl").read_bytes().count(b"\n")
    result = {"pages": pages, "seconds": seconds, "cpu_s": used.ru_utime + used.ru_stime}
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

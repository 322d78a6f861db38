"""Our crawl of one shop for the benchmark, as a process of its own; prints one line of JSON.

`python -m bench.aura_crawl URL DIRECTORY AT_ONCE MAX_PAGES`
"""

import asyncio
import json
import resource
import sys
import time

import hashrange
from hashrange import LocalKeys, SystemClock
from hashrange_systems.aura.schema import Aura, Shop
from hashrange_systems.aura.service.crawler import Crawler, CrawlLimits
from hashrange_systems.aura.service.crawls import Crawls
from hashrange_systems.aura.service.site import SiteTools, make_sandbox
from hashrange_systems.aura.work_schema import Work
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions


async def crawl(url: str, directory: str, at_once: int, max_pages: int) -> dict[str, float]:
    """Crawl a shop into a database on disk."""
    clock, sandbox = SystemClock(), make_sandbox()
    fetcher = Fetcher(Policy(exempt=parse_exemptions(["127.0.0.1"])), user_agent="hashrange-aura")
    tools = SiteTools(fetcher=fetcher, sandbox=sandbox, clock=clock, agent="hashrange-aura")
    with hashrange.open(directory) as database:
        hashrange.create_tables(database, Aura, Work)
        db, work = Aura.open(database), Work.open(database, keys=LocalKeys.generate())
        crawls = Crawls(db, work, clock)
        shop = await db.create(Shop(domain=url.split("/")[2], start_url=url))
        lease = await crawls.start(shop, "bench")
        assert lease is not None
        crawler = Crawler(
            db, work, clock, crawls, tools, CrawlLimits(max_pages=max_pages, at_once=at_once, delay_s=0.0)
        )
        began = time.perf_counter()
        finished = await crawler.crawl(lease)
        seconds = time.perf_counter() - began
        assert finished is not None, (await db.shop(shop.domain).required()).last_crawl_error
        (report,) = await work.crawl_reports(shop.domain).limit(1)
    sandbox.close()
    own, children = (sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {"pages": report.fetched, "seconds": seconds, "cpu_s": own + children, "own_s": own}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(crawl(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))))

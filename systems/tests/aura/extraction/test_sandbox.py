"""The extraction in the sandbox: the whole result comes back, and a page that takes too much affects no other."""

import asyncio

from hashrange_systems.aura.extraction.page_extraction import extract_page
from hashrange_systems.shared.sandbox.sandbox import Sandbox

PAGE = (
    '<html lang="de"><h1>Vase</h1><p>Los 7</p><p>Schätzpreis: 100 - 150 €</p><p class="price">90 €</p>'
    '<a href="/x">x</a><script type="application/ld+json">{broken</script>'
)


def test_the_sandbox_returns_what_a_direct_call_returns():
    async def run():
        sandbox = Sandbox(processes=1, modules=["hashrange_systems.aura.extraction.page_extraction"])
        try:
            arguments = ("https://a.test/lot/7", PAGE.encode(), "text/html", None)
            return await sandbox.run(extract_page, *arguments, tenant="a.test"), extract_page(*arguments)
        finally:
            sandbox.close()

    answered, direct = asyncio.run(run())
    assert answered == direct
    assert direct.auction.estimate_low == 10000

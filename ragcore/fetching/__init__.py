"""Web pages by their address, fetched so that nobody can reach into the own network by it."""

from ragcore.fetching.addresses import AddressPolicy, Resolver, system_resolve
from ragcore.fetching.fetcher import FetchedPage, Fetcher, FetchLimits, fetch
from ragcore.fetching.sitemaps import Sitemap, SitemapEntry, sitemap_urls

__all__ = [
    "AddressPolicy",
    "FetchLimits",
    "FetchedPage",
    "Fetcher",
    "Resolver",
    "Sitemap",
    "SitemapEntry",
    "fetch",
    "sitemap_urls",
    "system_resolve",
]

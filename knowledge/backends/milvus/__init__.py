"""Searching in Milvus, or Milvus Lite: one collection, one row an index entry.

Postgres stays the truth. Whatever Milvus finds is confirmed there before anybody sees it, so a collection that lags
behind shows too little for some seconds, and never too much.
"""

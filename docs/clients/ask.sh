#!/bin/sh
# Search, ask, and read an answer while it is written. Usage: SITE=… KEY=… sh ask.sh QUESTION
# Quotation marks and backslashes in the question must be escaped as in JSON.
set -eu

ask() {
    path=$1 body=$2
    shift 2
    curl -sS --fail-with-body --retry 3 -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
        "$@" "$SITE$path" -d "$body"
}

ask /api/v1/rag/retrieve "{\"query\": \"$1\", \"top_k\": 3}"
echo
ask /api/v1/rag/generate "{\"query\": \"$1\", \"style\": \"simple\"}"
echo
ask /api/v1/rag/generate/stream "{\"query\": \"$1\", \"style\": \"simple\", \"cache\": false}" -N

"""Language models: chat model clients, asking for text and JSON, usage and prices, tiers, fallback."""

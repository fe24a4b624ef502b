"""Models behind the ports: embedders, chat models and answer generators. Heavy libraries load on first use."""

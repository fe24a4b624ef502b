"""Whether the confidence of an answer is the share of right ones among such answers."""

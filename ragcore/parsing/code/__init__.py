"""Source code cut along its syntax."""

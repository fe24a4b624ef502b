"""What of answers travels with a knowledge set."""

"""What of evaluation travels with a knowledge set."""

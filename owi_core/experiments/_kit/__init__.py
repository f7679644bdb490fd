"""What experiments share: parameters, the run loop, and paired runs."""

"""The job engine: a queue, worker processes, and the results they leave."""

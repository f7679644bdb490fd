"""What a visitor's session holds: kept values, runs, models, and readings."""

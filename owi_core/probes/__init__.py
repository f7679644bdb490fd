"""Numbers measured on records and models: entropy, rollout, knock-out, leakage, storage."""

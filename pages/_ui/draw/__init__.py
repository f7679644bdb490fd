"""What pages draw alike: charts, components, forms, verdicts, and the run panel."""

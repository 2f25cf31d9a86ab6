"""What is measured and logged, for those who ask as they would ask Google Cloud."""

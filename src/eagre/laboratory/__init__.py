"""Work with the finished models: cases with exact solutions, validation, benchmarks and results of papers."""

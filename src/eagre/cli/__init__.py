"""The command line: one file a command; nothing heavy is imported until a command runs."""

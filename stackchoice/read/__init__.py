"""What people really have: the log of an engine, the files of a checkpoint, read into records."""

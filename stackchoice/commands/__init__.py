"""The commands of the command line, one module for each job: read, call the core, print."""

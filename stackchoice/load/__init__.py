"""The load client: raw sockets, stamps first, parsing after the run. Importable alone."""

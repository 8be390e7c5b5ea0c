"""How each engine shares out the memory it found for its cache, by the rules of its release."""

"""Predicted against measured: the public cases answered one by one, and who was right."""

from stackchoice.score.given import Unknown
from stackchoice.score.run import Score, score_file, score_lines, score_public

__all__ = ["Score", "Unknown", "score_file", "score_lines", "score_public"]

"""Predicted against measured: the public cases answered one by one, and who was right."""

from stackchoice.score.run import Score, score_file, score_lines, score_public
from stackchoice.score.unknown import Unknown

__all__ = ["Score", "Unknown", "score_file", "score_lines", "score_public"]

"""Predicted against measured: the public cases answered one by one, and who was right."""

from stackchoice.score.run import Score, score_file, score_lines, score_public

__all__ = ["Score", "score_file", "score_lines", "score_public"]

"""Broken checkpoints: every one is read or refused in one line, and valid ones read as before."""

from mutations import corpus, mutants

from stackchoice.errors import CheckpointError
from stackchoice.present.checkpoint import describe_checkpoint
from stackchoice.read import Inspection, inspect_checkpoint


def test_mutated_files_are_read_or_refused_and_the_corpus_still_reads_equal(tmp_path, facts):
    paths = corpus(tmp_path)
    before = [inspect_checkpoint(path, facts).model_dump_json() for path in paths]
    assert all("unknown" not in text[:60] for text in before)
    refused = 0
    for what, path in mutants(paths, tmp_path, number=300, seed=4):
        try:
            found = inspect_checkpoint(path, facts)
            assert Inspection.model_validate_json(found.model_dump_json()) is not None, what
            lines = describe_checkpoint(found).split("\n")
        except CheckpointError as error:
            refused += 1
            lines = [str(error)]
        assert all(line.isprintable() for line in lines), what
    assert refused > 50
    assert [inspect_checkpoint(path, facts).model_dump_json() for path in paths] == before

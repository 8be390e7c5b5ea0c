"""Files within bounds: what is read of safetensors and GGUF, and what is refused."""

import json
import os
import struct
import tracemalloc

import gguf
import pytest
from checkpoints import (
    DENSE,
    fp8_blocks,
    header,
    plain_parts,
    tensors_of,
    write_checkpoint,
    write_gguf,
    write_safetensors,
)

from stackchoice.errors import CheckpointError
from stackchoice.read import gguf as gguf_reader
from stackchoice.read import inspect_checkpoint
from stackchoice.read.safetensors import MAX_HEADER_BYTES, read_header

TENSORS = {"a.weight": ("BF16", (4, 8)), "b.weight": ("F8_E4M3", (2, 16)), "c": ("F32", ())}


@pytest.fixture(scope="module")
def bits(facts):
    return facts.quant_formats.dtypes.bits


@pytest.fixture(scope="module")
def types(facts):
    return {row.number: row for row in facts.quant_formats.ggml_types.rows}


class TestSafetensors:
    def test_a_header_gives_names_types_shapes_and_bytes(self, tmp_path, bits):
        write_safetensors(tmp_path / "m.safetensors", TENSORS, {"format": "pt"})
        found = read_header(tmp_path / "m.safetensors", bits)
        assert {t.name: (t.dtype, t.shape) for t in found.tensors} == TENSORS
        assert {t.name: t.size for t in found.tensors} == {"a.weight": 64, "b.weight": 32, "c": 4}
        assert found.metadata == {"format": "pt"}
        assert found.file_bytes == (tmp_path / "m.safetensors").stat().st_size

    def test_the_header_of_the_safetensors_package_reads_alike(self, tmp_path, bits):
        import numpy as np
        from safetensors.numpy import save_file

        arrays = {"x.weight": np.zeros((3, 5), np.float32), "y": np.zeros((2,), np.int8)}
        save_file(arrays, tmp_path / "m.safetensors", metadata={"format": "np"})
        found = {t.name: (t.shape, t.size) for t in read_header(tmp_path / "m.safetensors",
                                                                bits).tensors}  # fmt: skip
        assert found == {"x.weight": ((3, 5), 60), "y": ((2,), 2)}

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            (lambda raw: raw[:5], "begins with a length"),
            (lambda raw: raw[:20], "claims"),
            (lambda raw: raw[:-1], "truncated"),
            (lambda raw: raw + b"x", "does not list"),
            (lambda raw: struct.pack("<Q", 2**62) + raw[8:], "claims 4,611,686,018,427,387,904"),
            (lambda raw: struct.pack("<Q", MAX_HEADER_BYTES + 1) + raw[8:], "claims"),
            (lambda raw: raw[:8] + b"[" + raw[9:], "is not JSON"),
            (lambda raw: raw[:8] + b"\xff" + raw[9:], "is not JSON"),
        ],
    )
    def test_a_broken_file_gets_one_line(self, tmp_path, bits, change, says):
        path = tmp_path / "m.safetensors"
        write_safetensors(path, TENSORS)
        path.write_bytes(change(path.read_bytes()))
        with pytest.raises(CheckpointError, match=says) as error:
            read_header(path, bits)
        assert "\n" not in str(error.value)
        assert ";" in str(error.value)

    @pytest.mark.parametrize(
        ("entry", "says"),
        [
            ({"dtype": "BF16", "shape": [4, 8], "data_offsets": [0, 63]}, "claims 63 bytes"),
            ({"dtype": "BF16", "shape": [4, 8], "data_offsets": [8, 72]}, "hole"),
            ({"dtype": "BF16", "shape": [4, -8], "data_offsets": [0, 64]}, "lacks"),
            ({"dtype": "BF16", "shape": [2**40, 2**40], "data_offsets": [0, 64]}, "beyond any"),
            ({"dtype": "BF16", "shape": [4, True], "data_offsets": [0, 64]}, "lacks"),
            ({"dtype": 7, "shape": [4], "data_offsets": [0, 64]}, "lacks"),
            ({"dtype": "BF16", "shape": [4, 8], "data_offsets": [64, 0]}, "offsets"),
            ({"dtype": "BF16", "shape": [4, 8], "data_offsets": [0, 2**60]}, "lacks"),
            ([1, 2], "not described"),
        ],
    )
    def test_an_entry_that_cannot_be_is_refused(self, tmp_path, bits, entry, says):
        raw, _ = header({"b": ("F32", (1,))}, None, **{"a": entry})
        tree = json.loads(raw[8:])
        tree["b"]["data_offsets"] = [64, 68]
        packed = json.dumps(tree).encode()
        (tmp_path / "m.safetensors").write_bytes(
            struct.pack("<Q", len(packed)) + packed + bytes(68)
        )
        with pytest.raises(CheckpointError, match=says):
            read_header(tmp_path / "m.safetensors", bits)

    def test_overlapping_tensors_are_refused(self, tmp_path, bits):
        entries = {n: {"dtype": "U8", "shape": [8], "data_offsets": [b, b + 8]}
                   for n, b in (("a", 0), ("b", 4))}  # fmt: skip
        raw = json.dumps(entries).encode()
        (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(12))
        with pytest.raises(CheckpointError, match="overlap"):
            read_header(tmp_path / "m.safetensors", bits)

    @pytest.mark.parametrize("body", [b"[" * 3_000_000, b'{"a":' * 200_000, b"[1," * 1_500_000])
    def test_hostile_json_is_refused_in_little_memory(self, tmp_path, bits, body):
        raw = b'{"x":' + body
        (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", len(raw)) + raw)
        tracemalloc.start()
        with pytest.raises(CheckpointError):
            read_header(tmp_path / "m.safetensors", bits)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 300 * 2**20

    def test_a_type_that_is_not_known_is_taken_at_its_stored_size(self, tmp_path, bits):
        raw = json.dumps({"a": {"dtype": "F5_NEW", "shape": [8], "data_offsets": [0, 5]}}).encode()
        (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(5))
        assert read_header(tmp_path / "m.safetensors", bits).tensors[0].size == 5


class TestGguf:
    def test_metadata_and_tensors_are_what_the_gguf_package_wrote(self, tmp_path, types):
        path = write_gguf(tmp_path / "m.gguf", "Q4_K", file_type=15)
        found = gguf_reader.read_header(path, types)
        theirs = gguf.GGUFReader(str(path))
        assert {t.name: (t.type, t.size) for t in found.tensors} == {
            t.name: (int(t.tensor_type), int(t.n_bytes)) for t in theirs.tensors
        }
        assert found.metadata["llama.attention.head_count_kv"] == 2
        assert found.metadata["general.file_type"] == 15
        assert found.metadata["tokenizer.ggml.tokens"][:2] == ["t0", "t1"]

    def test_a_long_array_is_passed_over_and_counted(self, tmp_path, types):
        writer = gguf.GGUFWriter(str(tmp_path / "m.gguf"), "llama")
        writer.add_token_list([f"token {i}" for i in range(9000)])
        writer.add_array("numbers", list(range(9000)))
        writer.add_array("short", [1, 2, 3])
        writer.add_string("after", "seen")
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        found = gguf_reader.read_header(tmp_path / "m.gguf", types)
        assert found.lengths == {"tokenizer.ggml.tokens": 9000, "numbers": 9000}
        assert found.metadata["short"] == [1, 2, 3]
        assert found.metadata["after"] == "seen"

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            (lambda raw: raw[:10], "does not begin"),
            (lambda raw: b"GGML" + raw[4:], "does not begin"),
            (lambda raw: raw[:4] + struct.pack("<I", 1) + raw[8:], "version 1"),
            (lambda raw: raw[:8] + struct.pack("<Q", 2**40) + raw[16:], "claims"),
            (lambda raw: raw[:16] + struct.pack("<Q", 2**40) + raw[24:], "claims"),
            (lambda raw: raw[:24] + struct.pack("<Q", 2**63) + raw[32:], "a text of"),
            (lambda raw: raw[:200], "beyond the file|inside its header"),
            (lambda raw: raw[:-40], "truncated"),
        ],
    )
    def test_a_broken_file_gets_one_line(self, tmp_path, types, change, says):
        path = write_gguf(tmp_path / "m.gguf", "Q8_0")
        path.write_bytes(change(path.read_bytes()))
        with pytest.raises(CheckpointError, match=says) as error:
            gguf_reader.read_header(path, types)
        assert "\n" not in str(error.value)

    def test_a_hostile_array_takes_no_memory(self, tmp_path, types):
        raw = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
        raw += struct.pack("<Q", 1) + b"k" + struct.pack("<IIQ", 9, 8, 2**50)
        (tmp_path / "m.gguf").write_bytes(raw + bytes(100))
        tracemalloc.start()
        with pytest.raises(CheckpointError, match="array"):
            gguf_reader.read_header(tmp_path / "m.gguf", types)
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
        tracemalloc.stop()

    def test_nested_arrays_end(self, tmp_path, types):
        raw = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"k"
        raw += struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 5000
        (tmp_path / "m.gguf").write_bytes(raw)
        with pytest.raises(CheckpointError):
            gguf_reader.read_header(tmp_path / "m.gguf", types)

    def test_a_type_that_is_not_known_is_sized_by_its_place(self, tmp_path, types):
        path = write_gguf(tmp_path / "m.gguf", "Q8_0")
        whole = gguf_reader.read_header(path, types)
        fewer = {k: v for k, v in types.items() if v.name != "Q8_0"}
        found = gguf_reader.read_header(path, fewer)
        assert {t.name for t in found.tensors} == {t.name for t in whole.tensors}
        sizes = {t.name: t.size for t in whole.tensors}
        assert all(t.size >= sizes[t.name] for t in found.tensors)


class TestFolders:
    def test_names_with_path_parts_are_refused(self, tmp_path):
        folder = write_checkpoint(tmp_path / "m", DENSE, [tensors_of(plain_parts)])
        for name in ("../m/model-00001-of-00001.safetensors", "/etc/passwd", "a\\b", "..", "C:x"):
            index = {"weight_map": {"model.embed_tokens.weight": name}}
            (folder / "model.safetensors.index.json").write_text(json.dumps(index))
            with pytest.raises(CheckpointError, match="no plain file name"):
                inspect_checkpoint(folder)

    @pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
    def test_links_out_of_the_folder_are_refused(self, tmp_path):
        folder = write_checkpoint(tmp_path / "m", DENSE, [tensors_of(plain_parts)])
        (tmp_path / "elsewhere.json").write_text("{}")
        (folder / "generation_config.json").symlink_to(tmp_path / "elsewhere.json")
        with pytest.raises(CheckpointError, match="link that leads out"):
            inspect_checkpoint(folder)

    @pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
    def test_the_links_of_the_hub_cache_are_followed(self, tmp_path):
        cache = tmp_path / "models--team--Model-FP8"
        config = DENSE | {"quantization_config": {"quant_method": "fp8",
                                                  "weight_block_size": [128, 128]}}  # fmt: skip
        write_checkpoint(cache / "blobs", config, [tensors_of(fp8_blocks)])
        snapshot = cache / "snapshots" / "abc"
        snapshot.mkdir(parents=True)
        for path in (cache / "blobs").iterdir():
            (snapshot / path.name).symlink_to(f"../../blobs/{path.name}")
        found = inspect_checkpoint(snapshot)
        assert found.names == ["team/Model-FP8"]
        assert not found.contradictions()
        (snapshot / "chat_template.jinja").symlink_to("/etc/hosts")
        with pytest.raises(CheckpointError, match="link that leads out"):
            inspect_checkpoint(snapshot)

    def test_a_models_folder_of_the_hub_cache_gives_its_main_revision(self, tmp_path):
        cache = tmp_path / "models--team--Model"
        for name, layers in (("old", 1), ("new", 2)):
            write_checkpoint(cache / "snapshots" / name, DENSE | {"num_hidden_layers": layers}, [])
        with pytest.raises(CheckpointError, match="2 revisions"):
            inspect_checkpoint(cache)
        (cache / "refs").mkdir()
        (cache / "refs" / "main").write_text("new\n")
        found = inspect_checkpoint(cache)
        assert (found.architecture.number_of_layers, found.names) == (2, ["team/Model"])

    def test_a_gguf_without_a_suffix_is_known_by_its_first_bytes(self, tmp_path):
        path = write_gguf(tmp_path / "sha256-0123", "Q4_K")
        assert inspect_checkpoint(path).format == "gguf"

    def test_pickled_weights_are_named_and_left_alone(self, tmp_path):
        folder = write_checkpoint(tmp_path / "m", DENSE, [])
        (folder / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n")
        found = inspect_checkpoint(folder)
        assert found.encodings_from == "declaration"
        assert found.unread == ["1 files of pickled tensors, such as pytorch_model.bin"]

    def test_missing_shards_are_reported_and_the_rest_is_read(self, tmp_path):
        tensors = tensors_of(plain_parts)
        names = sorted(tensors)
        halves = [{n: tensors[n] for n in names[::2]}, {n: tensors[n] for n in names[1::2]}]
        folder = write_checkpoint(tmp_path / "m", DENSE, halves)
        (folder / "model-00002-of-00002.safetensors").unlink()
        found = inspect_checkpoint(folder)
        assert found.missing == ["model-00002-of-00002.safetensors"]
        assert found.findings[0].code == "shards_missing"

    def test_index_and_headers_are_compared(self, tmp_path):
        tensors = tensors_of(plain_parts)
        folder = write_checkpoint(tmp_path / "m", DENSE, [tensors], total=17)
        assert [f.code for f in inspect_checkpoint(folder).findings] == [
            "bytes_disagree_with_index"
        ]
        index = json.loads((folder / "model.safetensors.index.json").read_text())
        del index["weight_map"]["lm_head.weight"]
        index["weight_map"]["model.ghost.weight"] = "model-00001-of-00001.safetensors"
        index["metadata"] = {}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        codes = {f.code for f in inspect_checkpoint(folder).findings}
        assert codes == {"tensors_missing_from_files", "tensors_not_in_index"}

    @pytest.mark.parametrize(
        ("name", "content", "says"),
        [
            ("config.json", b"not json", "is not JSON"),
            ("config.json", b"[]", "is a list"),
            ("config.json", b"{" + b" " * (17 * 2**20) + b"}", "limit for this kind"),
            ("config.json", b'{"a": ' + b"9" * 5000 + b"}", "is not JSON"),
            ("model.safetensors.index.json", b'{"weight_map": 3}', "weight_map"),
            ("model.safetensors.index.json", b'{"weight_map": {"a": 3}}', "weight_map"),
        ],
    )
    def test_broken_small_files_get_one_line(self, tmp_path, name, content, says):
        folder = write_checkpoint(tmp_path / "m", DENSE, [tensors_of(plain_parts)])
        (folder / name).write_bytes(content)
        with pytest.raises(CheckpointError, match=says) as error:
            inspect_checkpoint(folder)
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize("name", ["nowhere", "a\0b", ""])
    def test_what_is_not_there_is_said(self, tmp_path, name):
        with pytest.raises(CheckpointError):
            inspect_checkpoint(tmp_path / name if name else tmp_path)

    def test_other_files_are_refused(self, tmp_path):
        (tmp_path / "m.bin").write_bytes(b"x")
        with pytest.raises(CheckpointError, match=r"no folder, \.gguf"):
            inspect_checkpoint(tmp_path / "m.bin")

    def test_the_manifest_follows_content_and_not_order(self, tmp_path):
        one = write_checkpoint(tmp_path / "one", DENSE, [tensors_of(plain_parts)])
        two = tmp_path / "two"
        two.mkdir()
        for path in sorted(one.iterdir(), reverse=True):
            (two / path.name).write_bytes(path.read_bytes())
        first, second = inspect_checkpoint(one), inspect_checkpoint(two, whole_hash=True)
        assert first.manifest_sha256 == second.manifest_sha256
        assert first.content_sha256 is None
        (two / "config.json").write_text(json.dumps(DENSE | {"vocab_size": 7}))
        third = inspect_checkpoint(two, whole_hash=True)
        assert third.manifest_sha256 != first.manifest_sha256
        with (two / "model-00001-of-00001.safetensors").open("r+b") as file:
            file.seek(-1, 2)
            file.write(b"\1")
        fourth = inspect_checkpoint(two, whole_hash=True)
        assert fourth.manifest_sha256 == third.manifest_sha256
        assert fourth.content_sha256 != third.content_sha256

    def test_the_manifest_is_the_documented_form(self, tmp_path):
        from hashlib import sha256

        folder = write_checkpoint(tmp_path / "m", DENSE, [tensors_of(plain_parts)])
        lines = []
        for path in sorted(folder.iterdir()):
            raw = path.read_bytes()
            own = raw
            if path.suffix == ".safetensors":
                own = raw[8 : 8 + int.from_bytes(raw[:8], "little")]
            lines.append(f"{path.name}\0{len(raw)}\0{sha256(own).hexdigest()}\n")
        assert (
            inspect_checkpoint(folder).manifest_sha256
            == sha256("".join(lines).encode()).hexdigest()
        )

"""What every allocator is asked with, and the words for what it answers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from packaging.version import Version

from stackchoice.errors import UnknownRuleError
from stackchoice.facts.allocation import MemoryFacts
from stackchoice.facts.datum import Record
from stackchoice.fit.cache import CacheLayout, Sliding, StateLayout, cache_layout
from stackchoice.fit.config import text_config, whole
from stackchoice.fit.kinds import layer_counts
from stackchoice.fit.layers import INDEXES, Layers, model_layers
from stackchoice.fit.release import Release

#: Settings that split layers or prompts over devices in ways whose pools nobody read.
NOT_READ = (
    "pipeline_parallel_size", "pp_size", "prefill_context_parallel_size", "attn_cp_size",
)  # fmt: skip


class Launch(Record):
    """One engine release with one model and its launch settings, on one device of its group."""

    engine: str
    release: Release
    config: dict[str, Any]
    kv_dtype: str | None = None
    tp: int = 1
    settings: dict[str, Any] = {}
    draft_layers: int = 0
    bytes_per_head: int | None = None
    expand_latent: bool = False
    sliding: Sliding = "window"
    memory: MemoryFacts
    engine_name: str = ""

    @property
    def called(self) -> str:
        """The engine and its release as people call them."""
        return f"{self.engine_name or self.engine} {self.release.text or 'newest'}"

    def fact(self, key: str, family: str = "") -> Any:
        """Return the engine's behaviour at this release (None: unknown)."""
        return self.memory.fact(self.engine, key, self.version, family).value

    def need(self, key: str, family: str = "") -> Any:
        """Return the behaviour; UnknownRuleError where nobody read it for this release."""
        datum = self.memory.fact(self.engine, key, self.version, family)
        if datum.value is None:
            why = f": {datum.note}" if datum.note else ""
            raise UnknownRuleError(f"{key} of {self.called} is not known{why}")
        return datum.value

    @property
    def version(self) -> Version | None:
        """The release in an order that can be compared."""
        return self.release.version

    @property
    def draft_tokens(self) -> int:
        """Tokens that a draft proposes per step; SGLang counts those to verify, one more."""
        names = ("num_speculative_tokens", "speculative_num_steps")
        own = next((self.settings[n] for n in names if self.settings.get(n)), 0)
        verified = self.settings.get("speculative_num_draft_tokens") or 1
        return int(own or verified - 1)

    @property
    def ranks(self) -> int:
        """Ranks of data parallelism: each has a pool of its own, and requests of its own."""
        names = ("data_parallel_size", "dp_size")
        return int(next((self.settings[n] for n in names if self.settings.get(n)), 1))

    @property
    def attention_ranks(self) -> int:
        """Ranks of data-parallel attention among the devices of one model.

        Elsewhere a rank has devices of its own. Source: ``compute_dp_attention_world_info`` in
        SGLang's ``layers/dp_attention.py``.
        """
        return self.ranks if self.settings.get("enable_dp_attention") else 1

    @property
    def context_tokens(self) -> int:
        """The length one request may reach: as set, else what the model was trained for.

        UnknownRuleError where neither is said.
        """
        names = ("max_model_len", "context_length", "num_ctx", "n_ctx", "max_seq_len")
        stated = next((self.settings[n] for n in names if self.settings.get(n)), None)
        length = stated or whole(self.text, "max_position_embeddings")
        if not length:
            raise UnknownRuleError("neither max_model_len nor max_position_embeddings is given")
        return int(length)

    @cached_property
    def text(self) -> dict[str, Any]:
        """The language model's part of the config."""
        return text_config(self.config)

    @cached_property
    def layers(self) -> list[Layers]:
        """The model's cache-bearing layers, read once for whatever asks about this launch."""
        return model_layers(self.config, shared_too=bool(self.fact("stores_shared_layers")))

    @cached_property
    def family(self) -> str:
        """The trait that decides the allocator's branch: what kinds of layers the model has."""
        kinds = {row.kind for row in self.layers}
        if "compressed" in kinds:
            return "compressed"
        if layer_counts(self.text).get("recurrent"):
            return "hybrid"
        if any(row.window_tokens for row in self.layers):
            return "sliding"
        if kinds & set(INDEXES):
            return "indexed" if "index" in kinds else "block_indexed"
        return "latent" if "latent" in kinds else "plain"

    @property
    def prefix_caching(self) -> bool:
        """Whether prefix caching is on: as set, else the release's default for this family."""
        stated = self.settings.get("enable_prefix_caching")
        if isinstance(stated, bool):
            return stated
        return bool(self.need("prefix_caching", "hybrid" if self.family == "hybrid" else ""))

    @property
    def stored_dtype(self) -> str | None:
        """The cache type as it is stored: some engines turn a type into a record of their own.

        UnknownRuleError for a type that the engine does not have.
        """
        asked = self.kv_dtype or self.fact("kv_dtype")
        form = self.memory.kv_format(asked) if asked else None
        if form is not None and form.engines and self.engine not in form.engines:
            raise UnknownRuleError(
                f"cache type {form.id!r} is not known in {self.engine}; it is one of "
                f"{', '.join(form.engines)}"
            )
        if form is not None and form.id == "fp8":
            return self.fact("stored_fp8", self.family) or asked
        return asked

    def refuse_mixed_index(self) -> None:
        """UnknownRuleError for an index beside states or windows, or one of pooled keys."""
        rows = [row for row in self.layers if row.kind in INDEXES]
        mixed = self.family in ("hybrid", "sliding")
        if rows and (mixed or any(row.ratio > 1 for row in rows)):
            raise UnknownRuleError(
                f"{self.engine}: index keys beside {self.family} layers were not read"
                if mixed
                else f"{self.engine}: index keys pooled over several tokens were not read"
            )

    def _expands(self) -> bool:
        """Whether this release stores the keys and values of a latent, not the latent."""
        text = self.text
        if not text.get("kv_lora_rank") or text.get("use_mla") is False:
            return False
        return bool(self.need("latent_cache", str(text.get("model_type") or "")) == "expanded")

    def but(self, **changes: Any) -> Launch:
        """Return the launch with other values, and what was worked out of those that stay."""
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        other = type(self).model_construct(**{**kept, **changes})
        if changes.keys() <= {"settings"}:
            for name in {"text", "layers", "family"} & self.__dict__.keys():
                other.__dict__[name] = self.__dict__[name]
        return other

    @cached_property
    def own_layout(self) -> CacheLayout:
        """The cache layout as this engine keeps it."""
        return self.layout()

    def layout(self, **changes: Any) -> CacheLayout:
        """Return the cache layout as this engine keeps it, or with other choices.

        UnknownRuleError for a way to split the model over devices that is not modelled.
        """
        for name in NOT_READ:
            if (parts := self.settings.get(name) or 1) != 1:
                raise UnknownRuleError(
                    f"{name} {parts}: what each device then keeps is not modelled; leave it out "
                    "and name the devices of one stage"
                )
        if self.tp % self.attention_ranks:
            raise UnknownRuleError(
                f"{self.tp} devices cannot share the attention of {self.attention_ranks} ranks"
            )
        return cache_layout(
            self.config, self.stored_dtype,
            **{
                "state": self.state_layout(), "layers": self.layers,
                "tp": self.tp // self.attention_ranks, "draft_layers": self.draft_layers,
                "draft_tokens": self.draft_tokens if self.fact("drafts_widen_state") else 0,
                "bytes_per_head": self.bytes_per_head,
                "expand_latent": self.expand_latent or self._expands(), "sliding": self.sliding,
                "memory": self.memory, **changes,
            },
        )  # fmt: skip

    def state_layout(self) -> StateLayout:
        """Return how the engine keeps recurrent state: its type, type and columns of the rest.

        A setting of the user (``mamba_ssm_cache_dtype``, ``mamba_ssm_dtype``) wins over the
        default, which depends on the kind of the layers and, where the engine says so, on the
        model type.
        """
        names = ("mamba_ssm_cache_dtype", "mamba_ssm_dtype")
        stated = next((self.settings[n] for n in names if self.settings.get(n)), "auto")
        rows = self.layers if self.config else ()
        kind = next((row.kind for row in rows if row.state_heads), "")
        model_type = str(self.text.get("model_type") or "")
        state = self.memory.fact(self.engine, "state_dtype", self.version, kind)
        by_type, by_kind, general = (
            self.memory.fact(self.engine, "silent_state_dtype", self.version, family)
            for family in (model_type, kind, "")
        )
        silent = by_kind if by_type == general else by_type
        read, silent_read = (
            one.value or ("unread" if one.note else None) for one in (state, silent)
        )
        conv, columns = self.fact("conv_dtype"), self.fact("conv_columns")
        return StateLayout(
            state_dtype=stated if stated != "auto"
            else None if read == "config" else read,
            silent_dtype=silent_read,
            conv_dtype=None if conv in (None, "model") else conv,
            all_conv_columns=columns in (None, "all"),
        )  # fmt: skip


def blocks(tokens: int, block_tokens: int) -> int:
    """Blocks that hold so many tokens."""
    return -(-tokens // block_tokens)

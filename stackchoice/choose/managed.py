"""Managed sellers pass questions 1 and 2 like engines do; what nobody says stays unknown."""

from collections.abc import Iterator

from stackchoice.choose.case import Case
from stackchoice.choose.decision import Candidate, Listing
from stackchoice.choose.judge import Check, first_failure, verdict
from stackchoice.cost import Volume, metered_usd
from stackchoice.facts.datum import Evidence, entry, weakest
from stackchoice.facts.prices import Offer, Seller
from stackchoice.workload import meets, needs

OPTION = "managed endpoint"


#: A seller, what it offers, and what became of it.
Offered = tuple[Seller, Offer, Candidate]


def offers(case: Case) -> list[tuple[Seller, Offer]]:
    """Return every seller of this model with its offer, in the order of the fact base."""
    return [
        (seller, offer)
        for seller in case.facts.sellers.values()
        if (offer := seller.offer(case.scenario.model.id)) is not None
    ]


def judged_sellers(case: Case, wanted: list[str] | str = "") -> list[Offered]:
    """Judge the scenario's sellers, or ``wanted`` ones, without a bill (all: ``any``)."""
    wanted = wanted or case.scenario.candidates.sellers

    def judged(here: Case) -> list[Offered]:
        return [
            (seller, offer, Candidate(
                option=OPTION,
                seller=seller.name,
                artifact=offer.sold_as,
                encoding=offer.precision.value or "",
                evidence=Evidence.STATED,
                **verdict(*first_failure(seller_checks(here, seller, offer)), "sells the model"),
            ))
            for seller, offer in offers(here)
            if wanted == "any" or seller.id in wanted
        ]  # fmt: skip

    return case.recall(("sellers", str(wanted)), judged)


def nobody_sells(case: Case) -> Candidate:
    """Return what stands in the list where no wanted seller has an offer of the model."""
    wanted, model = case.scenario.candidates.sellers, case.scenario.model.id
    others = len(offers(case))
    if not wanted:
        rest = f"; {others} in the fact base sell it" if others else ""
        return Candidate(
            option=OPTION, status="eliminated", question="constraints",
            reason=f"no seller is a candidate{rest}",
        )  # fmt: skip
    sellers = case.facts.sellers
    whom = "any seller" if wanted == "any" else ", ".join(sellers[id].name for id in wanted)
    rest = f"{others} others there sell it" if others else "whether others sell it is unknown"
    return Candidate(
        option=OPTION, status="eliminated", question="workload shape",
        reason=f"no offer of {model} by {whom} is in the fact base; {rest}",
    )  # fmt: skip


def priced(candidate: Candidate, offer: Offer, volume: Volume | None) -> Candidate:
    """Return a seller with the bill of this volume."""
    if volume is None:
        return candidate
    return candidate.model_copy(
        update={
            "usd_per_month": metered_usd(volume, offer.price),
            "evidence": weakest(Evidence.STATED, volume.evidence),
        }
    )


def best_seller(found: list[Offered], volume: Volume | None) -> Offered | None:
    """Return the surviving seller with the fewest unknowns, the cheapest among equals."""
    alive = [one for one in found if one[2].status == "viable"]
    fewest = min((len(c.unknown) for _, _, c in alive), default=0)
    known = [one for one in alive if len(one[2].unknown) == fewest]
    best = min(
        known, key=lambda one: metered_usd(volume, one[1].price) if volume else 0, default=None
    )
    return best and (best[0], best[1], priced(best[2], best[1], volume))


def overlooked(case: Case, volume: Volume | None, taken: Candidate | None) -> Candidate | None:
    """Return a seller outside the scenario's candidates that is better known and no dearer."""
    found = best_seller(judged_sellers(case, "any"), volume)
    best = found and found[2]
    if taken is None or best is None or best.usd_per_month is None or taken.usd_per_month is None:
        return None
    better = len(best.unknown) < len(taken.unknown) and best.usd_per_month <= taken.usd_per_month
    return best if better else None


def seller_checks(case: Case, seller: Seller, offer: Offer) -> Iterator[Check]:
    leave = case["constraints.data_may_leave"]
    yield "constraints", leave, (
        "the data may not leave" if leave is False else "whether the data may leave"
    ), ("constraints.data_may_leave",)  # fmt: skip
    wanted = case.scenario.constraints.regions_allowed
    if wanted == "not known":
        yield "constraints", None, "in which regions the data may be kept"
    elif wanted:
        allowed, regions = {region.lower() for region in wanted}, seller.regions.value
        inside = None if regions is None else bool(allowed & {r.lower() for r in regions})
        yield "constraints", inside, (
            f"whether {seller.name} keeps data in an allowed region" if inside is None
            else f"{seller.name} serves from {', '.join(regions or [])}, which is not allowed"
        ), (("regions", seller.regions),)  # fmt: skip
    if case.scenario.workload.purpose == "reference run":
        yield "workload shape", False, "a metered endpoint shows neither weights nor precision"
    context, limit = case["workload.context_tokens"], offer.context_tokens.value
    # No seller can sell more context than the model has.
    model_limit = case.facts.models[case.scenario.model.id].context_tokens.value
    if context and model_limit and context > model_limit:
        yield (
            "hardware fit", False,
            f"the model's context is {model_limit:,} tokens; {context:,} are asked",
            (("context of the model", case.facts.models[case.scenario.model.id].context_tokens),
             "workload.context_tokens"),
        )  # fmt: skip
    if context is not None:
        yield "hardware fit", None if limit is None else context <= limit, (
            f"the context {seller.name} sells" if limit is None
            else f"sells {limit:,} tokens of context; {context:,} are asked"
        ), (("context sold", offer.context_tokens), "workload.context_tokens")  # fmt: skip
    precision = offer.precision.known or None
    yield "hardware fit", precision, f"the precision {seller.name} serves"
    features = {**seller.features, **{k: d for k, d in offer.features.items() if d.known}}
    for need in needs(case.point):
        fact = entry(features, need.feature)
        has = meets(fact.value, need)
        yield "workload shape", has, (
            f"whether {seller.name} can {need.text}" if has is None
            else f"{seller.name} does not {need.text}"
        ), ((need.text, fact),)  # fmt: skip


def market(case: Case, volume: Volume | None) -> list[Listing]:
    """Return every listed price for the model: one name, different products."""
    return [
        {
            "seller": seller.name,
            "sold_as": offer.sold_as,
            "note": offer.note,
            "precision": offer.precision.value,
            "input_usd_per_mtok": offer.price.input_usd_per_mtok,
            "cached_input_usd_per_mtok": offer.price.cached_input_usd_per_mtok,
            "output_usd_per_mtok": offer.price.output_usd_per_mtok,
            "usd_per_month": metered_usd(volume, offer.price) if volume else None,
            "as_of": offer.price.starts,
            "source": offer.price.source.label,
        }
        for seller, offer in offers(case)
    ]

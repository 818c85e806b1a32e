"""Memory for large frames, shared."""

from hypothesis import given
from hypothesis import strategies as st

from broker_core.transport.frame_budget import FrameBudget


def test_gives_until_it_is_used_up_and_then_in_order():
    budget, granted = FrameBudget(100), []
    assert budget.reserve("a", 60, lambda: granted.append("a"))
    assert budget.reserve("b", 40, lambda: granted.append("b"))
    assert not budget.reserve("c", 50, lambda: granted.append("c"))
    assert not budget.reserve("d", 1, lambda: granted.append("d")), "it stands behind c"
    budget.release("b")
    assert granted == []
    budget.release("a")
    assert granted == ["c", "d"]
    assert budget.taken_bytes == 51


def test_a_frame_larger_than_all_of_it_is_served_alone():
    budget = FrameBudget(100)
    assert budget.reserve("a", 1000, lambda: None)
    assert not budget.reserve("b", 1, lambda: None)


def test_who_leaves_while_waiting_is_forgotten():
    budget, granted = FrameBudget(100), []
    budget.reserve("a", 100, lambda: None)
    budget.reserve("b", 100, lambda: granted.append("b"))
    budget.reserve("c", 100, lambda: granted.append("c"))
    budget.release("b")
    budget.release("a")
    assert granted == ["c"]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.integers(1, 120))))
def test_never_gives_more_than_it_has_and_never_leaves_room_unused(steps):
    budget, holds, waits = FrameBudget(100), {}, {}

    def granted(owner):
        holds[owner] = waits.pop(owner)

    for is_reserve, owner, size in steps:
        if is_reserve and owner not in holds and owner not in waits:
            if budget.reserve(owner, size, lambda owner=owner: granted(owner)):
                holds[owner] = size
            else:
                waits[owner] = size
        elif not is_reserve:
            holds.pop(owner, None)
            waits.pop(owner, None)
            budget.release(owner)
        assert budget.taken_bytes == sum(holds.values())
        assert budget.taken_bytes <= 100 or len(holds) == 1
        assert holds or not waits

import asyncio
import os
import select
import threading

from broker_core.engine.processors.durable_answers import DurableAnswers
from tests.support.remoting_peer import eventually


class FlushedByHand:
    """A store whose syncs a test reports from another thread."""

    def __init__(self):
        self.waiting = []

    def when_durable(self, physical_end, done):
        self.waiting.append((physical_end, done))

    def report(self, durable=True):
        def flush_thread():
            for _, done in self.waiting:
                done(durable)

        thread = threading.Thread(target=flush_thread)
        thread.start()
        thread.join()
        self.waiting.clear()


def test_what_became_durable_together_is_answered_in_one_turn_on_the_loop():
    async def scenario():
        loop, store, answers, calls = asyncio.get_running_loop(), FlushedByHand(), [], []
        durable = DurableAnswers(store, loop)
        wake = loop.call_soon_threadsafe
        loop.call_soon_threadsafe = lambda *a, **k: (calls.append(a), wake(*a, **k))[1]
        for number in range(100):
            durable.wait(number, lambda ok, number=number: answers.append((number, ok, threading.current_thread())))
        await eventually(lambda: store.waiting)
        assert [end for end, _ in store.waiting] == [99]
        store.report()
        await eventually(lambda: len(answers) == 100)
        assert [(number, ok) for number, ok, _ in answers] == [(number, True) for number in range(100)]
        assert {thread for _, _, thread in answers} == {threading.main_thread()}
        assert len(calls) == 1

    asyncio.run(scenario())


def test_a_later_sync_is_answered_too_and_a_failed_one_says_so():
    async def scenario():
        store = FlushedByHand()
        durable = DurableAnswers(store, asyncio.get_running_loop())
        for outcome in (True, False):
            task = asyncio.create_task(durable.wait_for(5))
            await eventually(lambda: store.waiting)
            store.report(outcome)
            assert await task is outcome

    asyncio.run(scenario())


class SyncsByHand:
    """What a store has for an event loop; `end` makes its descriptor readable."""

    def __init__(self):
        self.descriptor = os.eventfd(0)
        self.waiting = []
        self.looks = 0
        self.is_closed = False

    def when_durable(self, physical_end, done):
        self.waiting.append((physical_end, done))

    def end(self):
        os.eventfd_write(self.descriptor, 1)

    def look(self):
        self.looks += 1
        if select.select([self.descriptor], [], [], 0)[0]:
            os.eventfd_read(self.descriptor)
            waiting, self.waiting = self.waiting, []
            for _, done in waiting:
                done(True)

    def close(self):
        self.is_closed = True
        os.close(self.descriptor)


def test_the_loop_takes_part_in_syncs_and_a_full_group_does_not_wait_for_its_turn_to_end():
    async def scenario():
        syncs, answers = SyncsByHand(), []
        durable = DurableAnswers(FlushedByHand(), asyncio.get_running_loop(), syncs)
        for number in range(150):
            durable.wait(number, lambda ok, number=number: answers.append((number, ok)))
        assert [end for end, _ in syncs.waiting] == [63, 127]
        assert syncs.looks == 2
        await eventually(lambda: len(syncs.waiting) == 3)
        assert syncs.waiting[-1][0] == 149
        syncs.end()
        await eventually(lambda: len(answers) == 150)
        assert answers == [(number, True) for number in range(150)]
        durable.close()
        durable.close()
        assert syncs.is_closed

    asyncio.run(scenario())


def test_the_answers_of_a_read_fill_a_group_at_once():
    async def scenario():
        syncs, answers = SyncsByHand(), []
        durable = DurableAnswers(FlushedByHand(), asyncio.get_running_loop(), syncs)
        durable.wait(10, answers.append, 63)
        assert not syncs.waiting
        durable.wait(20, answers.append, 5)
        assert [end for end, _ in syncs.waiting] == [20]
        syncs.end()
        await eventually(lambda: answers == [True, True])
        durable.close()

    asyncio.run(scenario())

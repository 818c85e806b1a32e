from __future__ import annotations

from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.transaction.engine import Decision, EndResult, TransactionEngine
from broker_core.engine.transaction.messages import HalfMessage
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import ResponseCode


class TransactionActions:
    """Commit, roll back, check now, resume, by a person. Recorded before they are done; failures are recorded as well."""

    def __init__(self, engine: TransactionEngine, journal: ActionJournal) -> None:
        self._engine = engine
        self._journal = journal

    async def end(self, origin: int, *, commit: bool) -> None:
        """Commit or roll back an undecided transaction.

        Raises:
            RequestRefusedError: It is no longer undecided, or the store refuses it.
            StoreError: The journal cannot be written; nothing was done.
        """
        action = "transaction.commit" if commit else "transaction.rollback"
        await self._record(action, self._undecided(origin))
        # While the journal was written, its producer may have decided it.
        result = self._engine.decide(self._undecided(origin), Decision.COMMIT if commit else Decision.ROLLBACK)
        await self._told(action, f"transaction {origin}", result)

    async def check(self, origin: int) -> None:
        """Ask a producer about an undecided transaction now. Raises as `end`, also when no producer is connected."""
        await self._record("transaction.check", self._undecided(origin))
        refusal = self._engine.check_now(self._undecided(origin))
        code = ResponseCode.SERVICE_NOT_AVAILABLE if refusal else ResponseCode.SUCCESS
        await self._told("transaction.check", f"transaction {origin}", EndResult(code, refusal))

    async def resume(self, physical_offset: int) -> None:
        """Put a given-up message back into the half topic. Raises as `end`, also when there is no such message."""
        subject = f"message at {physical_offset}"
        self.check_loaded()
        await self._journal.record("transaction.resume", subject, physicalOffset=physical_offset)
        await self._told("transaction.resume", subject, self._engine.resume(physical_offset))

    def check_loaded(self) -> None:
        """Raise `RequestRefusedError` while the undecided transactions are not all read, just after the start."""
        if not self._engine.is_loaded:
            left = f"{self._engine.unread:,} records of half and op queue are left"
            remark = f"the broker has just started and reads its undecided transactions, {left}; try again in a moment"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_BUSY)

    def _undecided(self, origin: int) -> HalfMessage:
        self.check_loaded()
        half = self._engine.ledger.find(origin)
        if half is None:
            outcome = self._engine.ledger.outcome(origin)
            how = "there is no such transaction" if outcome is None else f"it is {outcome.value}"
            remark = f"transaction {origin} is not undecided: {how}"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR, origin=origin)
        return half

    async def _record(self, action: str, half: HalfMessage) -> None:
        await self._journal.record(
            action,
            f"transaction {half.origin}",
            group=half.group,
            topic=half.topic,
            halfOffset=half.half_offset,
            physicalOffset=half.physical_offset,
        )

    async def _told(self, action: str, subject: str, result: EndResult) -> None:
        if result.code != ResponseCode.SUCCESS:
            await self._journal.record(f"{action}.failed", subject, remark=result.remark)
            raise RequestRefusedError(result.remark, code=result.code)

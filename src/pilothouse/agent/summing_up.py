"""The run that sums up older turns because the person wants it: asks at a budget, and goes on from any restart."""

from __future__ import annotations

import msgspec

from pilothouse.agent import compaction
from pilothouse.agent.closing import interrupted
from pilothouse.agent.limit_questions import Outcome, ask_for_budget, tell_stopped
from pilothouse.agent.spending import Purse
from pilothouse.agent.steps import Finish, Wait, next_step
from pilothouse.types.items import Item
from pilothouse.types.ports import Journal, OpenModel


class SummingUp(msgspec.Struct, frozen=True):
    """One wish for a summary: what it is to keep, by which model, and from what it is paid."""

    run_id: str
    opened: OpenModel
    journal: Journal
    purse: Purse
    keep: str
    # Whether nobody is there who could be asked.
    unattended: bool = False

    async def run(self) -> Outcome:
        """Make the summary, once the budgets cover it or the person said to go on."""
        if left := interrupted(self._mine()):
            await self.journal.write(*left)
        if any(item.kind == "compaction" and item.status == "completed" for item in self._mine()):
            # It was made, and its process ended before it could say so.
            return Outcome("completed")
        while True:
            match next_step(self.journal.items, self.run_id):
                case Wait():
                    return Outcome("waiting")
                case Finish():
                    await tell_stopped(self.journal, self._mine())
                    return Outcome("completed")
            coming = compaction.most_it_takes(self.opened.config, self.journal.items)
            excess = await self.purse.excess(self._mine(), coming)
            if excess is None:
                with self.purse.paying(coming):
                    return await self._sum_up()
            refused = await ask_for_budget(self.journal, excess, unattended=self.unattended)
            if refused is not None:
                return refused

    async def _sum_up(self) -> Outcome:
        failed = await compaction.compact_as_asked(self.opened, self.journal, self.run_id, self.keep)
        return Outcome("completed") if failed is None else Outcome("failed", failed.code, failed.message)

    def _mine(self) -> list[Item]:
        return [item for item in self.journal.items if item.run_id == self.run_id]

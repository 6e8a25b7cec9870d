import { ActionIcon, Tooltip } from "@mantine/core";
import { memo } from "react";
import { toggleTab, usePanel } from "../panel/state";
import { useApp } from "../store/store";
import classes from "./Context.module.css";
import { isNearlyFull, ringLabel } from "./ledger";
import { useLedger } from "./useLedger";

/** Where the ring of a full window would end; the library of shapes then counts in percent. */
const WHOLE = 100;

/** How full the window is, and the way to what fills it. */
export const Ring = memo(() => {
  const isOpen = useApp((state) => state.open !== null);
  const ledger = useLedger()?.ledger ?? null;
  const panel = usePanel();
  if (!isOpen) return null;
  const share = ledger && ledger.window > 0 ? Math.min(WHOLE, (ledger.used / ledger.window) * WHOLE) : 0;
  const label = ringLabel(ledger);
  return (
    <Tooltip label={label} multiline maw={260}>
      <ActionIcon
        size="lg"
        className={classes.ring ?? ""}
        data-near={(ledger && isNearlyFull(ledger)) || undefined}
        aria-label={label}
        aria-pressed={panel.isOpen && panel.tab === "context"}
        onClick={() => toggleTab("context")}
      >
        <svg width="20" height="20" viewBox="0 0 20 20" fill="none" aria-hidden="true" focusable="false">
          <circle className={classes.track} cx="10" cy="10" r="7.5" />
          {share > 0 && (
            <circle
              className={classes.arc}
              cx="10"
              cy="10"
              r="7.5"
              pathLength={WHOLE}
              strokeDasharray={`${Math.max(2, share)} ${WHOLE}`}
              transform="rotate(-90 10 10)"
            />
          )}
        </svg>
      </ActionIcon>
    </Tooltip>
  );
});

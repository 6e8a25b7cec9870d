import { Button } from "@mantine/core";
import { autoApproveEnd } from "../policy/modes";
import { settingsNow } from "../store/settings";
import { useApp } from "../store/store";
import { WarningIcon } from "./icons";
import classes from "./Mode.module.css";
import { setMode, useMode } from "./ModeSelector";
import { useRoute } from "./router";
import { clock } from "./time";

/** Says all the time that this conversation does not ask, until when, and switches it off. */
export function AutoApproveBanner() {
  const mode = useMode();
  const route = useRoute();
  const end = useApp((state) => autoApproveEnd(settingsNow(state)));
  const isBegun = useApp((state) => (state.open?.conversation.settings.modeSince ?? 0) > 0);
  if (mode !== "auto_approve" || end === null || route.page !== "chat") return null;
  return (
    <div className={classes.banner} role="status">
      <WarningIcon size={16} />
      <span>
        <strong>Auto-approve is on.</strong> This conversation does not ask
        {isBegun ? `; it ends at ${clock(end)}, or when Pilothouse restarts.` : " once it begins."}
      </span>
      <Button size="compact-sm" variant="default" onClick={() => setMode("ask")}>
        Switch off
      </Button>
    </div>
  );
}

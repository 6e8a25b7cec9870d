import { Button } from "@mantine/core";
import { useState } from "react";
import { api } from "../api/client";
import type { ServerView } from "../api/types";
import { WarningIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { changeServers } from "./actions";
import { Difference } from "./Difference";
import classes from "./Tools.module.css";

/** Shows that a server says something else about itself than before; models get what it said before. */
export function AboutChange({ server }: { server: ServerView }) {
  const [isBusy, setBusy] = useState(false);
  const change = server.aboutChange;
  if (!change || change.refused) return null;
  const decide = (accept: boolean) => () => {
    setBusy(true);
    changeServers(api.decideAbout(server.id, change.fingerprint, accept))
      .catch(tell)
      .finally(() => setBusy(false));
  };
  return (
    <div className={classes.changed} role="group" aria-label="What the server says about itself">
      <p className={`ph-with-icon ${classes.warning}`}>
        <WarningIcon size={15} />
        <span>It says something else about itself than before. Models are told what it said before until you accept this.</span>
      </p>
      <Difference before={change.approved} now={change.now} />
      <div className={classes.decide}>
        <Button size="compact-sm" loading={isBusy} onClick={decide(true)}>
          Accept the new words
        </Button>
        <Button size="compact-sm" variant="default" disabled={isBusy} onClick={decide(false)}>
          Keep the old ones
        </Button>
      </div>
    </div>
  );
}

import { Button } from "@mantine/core";
import { useEffect, useState } from "react";
import { errorText } from "../api/client";
import { finding } from "../api/finding";
import type { PackageUpdate, ServerView } from "../api/types";
import { changeServers } from "../servers/actions";
import { WhatStarts } from "../servers/ConsentDialog";
import dialogs from "../servers/Dialogs.module.css";
import { Working } from "../servers/Working";
import { Dialog } from "../shell/Dialog";
import { DialogFoot } from "../shell/DialogFoot";
import { Said } from "../shell/Said";

function useNewer(id: string, onClose: () => void) {
  const [update, setUpdate] = useState<PackageUpdate | null>(null);
  const [problem, setProblem] = useState("");
  const [isTaking, setTaking] = useState(false);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    finding.newer(id, signal).then(
      (found) => signal.aborted || setUpdate(found),
      (error: unknown) => signal.aborted || setProblem(errorText(error)),
    );
    return () => leaving.abort();
  }, [id]);
  const take = () => {
    if (!update?.consent) return;
    setTaking(true);
    setProblem("");
    changeServers(finding.update(id, update.newest, update.consent.fingerprint))
      .then(onClose, (error: unknown) => setProblem(errorText(error)))
      .finally(() => setTaking(false));
  };
  return { update, problem, isTaking, take };
}

function Newer({ server, onClose }: { server: ServerView; onClose: () => void }) {
  const { update, problem, isTaking, take } = useNewer(server.id, onClose);
  const said = isTaking ? <Working>Installing…</Working> : undefined;
  return (
    <div className={dialogs.stack}>
      {!update && !problem && <Working>Looking for a newer version…</Working>}
      {update && (
        <p role="status" className="ph-lead">
          <Said text={update.message || `${update.version} is installed, the newest is ${update.newest}.`} />
        </p>
      )}
      {update?.consent && <WhatStarts consent={update.consent} />}
      <DialogFoot problem={problem} said={said}>
        <Button variant={update?.consent ? "default" : "filled"} data-autofocus onClick={onClose}>
          {update?.consent ? "Not now" : "Close"}
        </Button>
        {update?.consent && (
          <Button loading={isTaking} onClick={take}>
            Update to {update.newest}
          </Button>
        )}
      </DialogFoot>
    </div>
  );
}

/** Asks whether there is a newer version of a server's package, and shows all that is new before it is taken. */
export default function NewerDialog({ server, onClose }: { server: ServerView | null; onClose: () => void }) {
  return (
    <Dialog about={server} title={({ name }) => `Newer version of “${name}”`} size="lg" onClose={onClose} closeOnClickOutside={false}>
      {(shown) => <Newer key={shown.id} server={shown} onClose={onClose} />}
    </Dialog>
  );
}

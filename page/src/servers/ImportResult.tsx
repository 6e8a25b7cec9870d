import { Button, Checkbox } from "@mantine/core";
import { useState } from "react";
import { api, errorText } from "../api/client";
import type { ImportReport } from "../api/types";
import { DialogFoot } from "../shell/DialogFoot";
import { changeServers, needsConsent } from "./actions";
import classes from "./Dialogs.module.css";

const outcomes = { added: "added", known: "known already", refused: "refused" } as const;

type Imported = ImportReport["servers"][number];

function useSwitching(added: readonly Imported[], onLook: (ids: readonly string[]) => void) {
  const [chosen, setChosen] = useState(() => new Set(added.filter(({ wasOff }) => !wasOff).map(({ id }) => id ?? "")));
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const choose = (id: string, isOn: boolean) => {
    const next = new Set(chosen);
    if (isOn) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const switchOn = () => {
    setBusy(true);
    setProblem("");
    changeServers(api.switchServers([...chosen], true))
      .then(
        ({ servers }) => onLook(servers.filter((server) => chosen.has(server.id) && needsConsent(server)).map(({ id }) => id)),
        (error: unknown) => setProblem(errorText(error)),
      )
      .finally(() => setBusy(false));
  };
  return { chosen, choose, isBusy, problem, switchOn };
}

function Told({ server }: { server: Imported }) {
  const { name, outcome, reason, notes = [] } = server;
  return (
    <>
      <strong>{name}</strong> {outcomes[outcome]}
      {outcome !== "added" && reason && `: ${reason}`}
      {notes.map((note) => (
        <span key={note} className={classes.note}>
          {note}
        </span>
      ))}
    </>
  );
}

function lead(count: number): string {
  if (count === 0) return "Nothing was added.";
  const were = count === 1 ? "One server was" : `${count} servers were`;
  return `${were} added. A local program asks for your consent before it starts.`;
}

interface ResultProps {
  report: ImportReport;
  onClose: () => void;
  onLook: (ids: readonly string[]) => void;
}

/** What an import did, and which of the servers to switch on now. */
export function ImportResult({ report, onClose, onLook }: ResultProps) {
  const added = report.servers.filter(({ outcome }) => outcome === "added");
  const { chosen, choose, isBusy, problem, switchOn } = useSwitching(added, onLook);
  return (
    <div className={classes.stack} role="status">
      <p className="ph-lead">{lead(added.length)}</p>
      <ul className={classes.report}>
        {report.servers.map((server, at) => (
          <li key={at} data-outcome={server.outcome}>
            {server.outcome === "added" ? (
              <Checkbox
                size="sm"
                label={<Told server={server} />}
                checked={chosen.has(server.id ?? "")}
                onChange={(event) => choose(server.id ?? "", event.currentTarget.checked)}
              />
            ) : (
              <Told server={server} />
            )}
          </li>
        ))}
      </ul>
      <DialogFoot problem={problem}>
        <Button variant={added.length ? "default" : "filled"} onClick={onClose}>
          Close
        </Button>
        {added.length > 0 && (
          <Button loading={isBusy} disabled={chosen.size === 0} onClick={switchOn}>
            {chosen.size === 1 ? "Switch on the chosen one" : `Switch on the chosen ${chosen.size}`}
          </Button>
        )}
      </DialogFoot>
    </div>
  );
}

import { Button, Checkbox, TextInput } from "@mantine/core";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { api, errorText } from "../api/client";
import { finding } from "../api/finding";
import type { NearbyServer, NearbyServers } from "../api/types";
import { changeServers } from "../servers/actions";
import dialogs from "../servers/Dialogs.module.css";
import { Plain, Seen } from "../servers/Plain";
import { counted } from "../servers/words";
import { Dialog } from "../shell/Dialog";
import { DialogFoot } from "../shell/DialogFoot";
import classes from "./Finding.module.css";
import { hostsIn } from "./nearby";

/** What a server that answered says about itself, in a few words. */
function about({ version, tools, needsSignIn, knownAs }: NearbyServer): string {
  const says = tools === null ? "" : counted(tools, "tool");
  return [knownAs && `is “${knownAs}” in your list already`, version, says, needsSignIn && "wants a sign-in or a key"].filter(Boolean).join(", ");
}

interface FoundProps {
  found: NearbyServers;
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
}

function Found({ found, chosen, onChange }: FoundProps) {
  const choose = (url: string, isOn: boolean) => {
    const next = new Set(chosen);
    if (isOn) next.add(url);
    else next.delete(url);
    onChange(next);
  };
  return (
    <div role="status">
      {found.notes.map((note) => (
        <p key={note} className={dialogs.quiet}>
          {note}
        </p>
      ))}
      {found.servers.length === 0 && <p className="ph-lead">No server was found there.</p>}
      <ul className={`${classes.ticks} ${classes.flat}`} aria-label="Servers nearby">
        {found.servers.map((server) => (
          <li key={server.url}>
            <Checkbox
              label={
                <>
                  <Seen text={server.name} /> <span className={dialogs.quiet}>{about(server)}</span>
                </>
              }
              description={<Plain text={server.url} />}
              disabled={server.knownAs !== ""}
              checked={chosen.has(server.url)}
              onChange={(event) => choose(server.url, event.currentTarget.checked)}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}

function useNearby(onAdded: () => void) {
  const [hosts, setHosts] = useState("");
  const [announced, setAnnounced] = useState(false);
  const [isLooking, setLooking] = useState(false);
  const [isAdding, setAdding] = useState(false);
  const [found, setFound] = useState<NearbyServers | null>(null);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [problem, setProblem] = useState("");
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const look = (event: FormEvent) => {
    event.preventDefault();
    running.current = new AbortController();
    const { signal } = running.current;
    setLooking(true);
    setProblem("");
    setChosen(new Set());
    finding
      .nearby(hostsIn(hosts), announced, signal)
      .then(setFound, (error: unknown) => signal.aborted || setProblem(errorText(error)))
      .finally(() => setLooking(false));
  };
  const add = async () => {
    const wanted = (found?.servers ?? []).filter(({ url }) => chosen.has(url));
    for (const { url, name, wire } of wanted) await api.addServer({ url, name, wire });
  };
  const addChosen = () => {
    setAdding(true);
    setProblem("");
    changeServers(add())
      .then(onAdded, (error: unknown) => setProblem(errorText(error)))
      .finally(() => setAdding(false));
  };
  return { hosts, setHosts, announced, setAnnounced, isLooking, isAdding, found, chosen, setChosen, problem, look, addChosen };
}

interface NearbyProps {
  onClose: () => void;
  onAdded: () => void;
}

function Nearby({ onClose, onAdded }: NearbyProps) {
  const { hosts, setHosts, announced, setAnnounced, isLooking, isAdding, found, chosen, setChosen, problem, look, addChosen } = useNearby(onAdded);
  return (
    <div className={dialogs.stack}>
      <form onSubmit={look} className={dialogs.stack} noValidate>
        <div className={classes.addRegistry}>
          <TextInput
            className={classes.field}
            label="Machines"
            description="Names or addresses. They are asked at the usual ports and paths; nothing is added or started."
            placeholder="nas.local, 192.168.1.5:8080, box.tail1234.ts.net"
            data-autofocus
            spellCheck={false}
            autoCapitalize="none"
            value={hosts}
            onChange={(event) => setHosts(event.currentTarget.value)}
          />
          <Button type="submit" variant={found ? "default" : "filled"} loading={isLooking} disabled={!hosts.trim() && !announced}>
            Look
          </Button>
        </div>
        <Checkbox
          label="Also list servers that announce themselves in this network"
          checked={announced}
          onChange={(event) => setAnnounced(event.currentTarget.checked)}
        />
      </form>
      {found && <Found found={found} chosen={chosen} onChange={setChosen} />}
      <DialogFoot problem={problem}>
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        {found && found.servers.length > 0 && (
          <Button loading={isAdding} disabled={chosen.size === 0} onClick={addChosen}>
            {chosen.size < 2 ? "Add the chosen one" : `Add the chosen ${chosen.size}`}
          </Button>
        )}
      </DialogFoot>
    </div>
  );
}

/** Looks for servers on machines that the person names. */
export default function NearbyDialog({ opened, ...props }: NearbyProps & { opened: boolean }) {
  return (
    <Dialog about={opened || null} title={() => "Look nearby"} size="lg" onClose={props.onClose} closeOnClickOutside={false}>
      {() => <Nearby {...props} />}
    </Dialog>
  );
}

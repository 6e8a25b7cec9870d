import { TextInput } from "@mantine/core";
import { useEffect, useState, type Dispatch, type KeyboardEvent, type SetStateAction } from "react";
import { api } from "../api/client";
import type { ServerView } from "../api/types";
import { SearchIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { navigate, settingsPath } from "../shell/router";
import { Place, Warning } from "../settings/Warning";
import { useApp } from "../store/store";
import { changeServers, loadServers, needsConsent } from "./actions";
import { ConsentDialog } from "./ConsentDialog";
import { ImportDialog } from "./ImportDialog";
import { LogDialog } from "./LogDialog";
import { RoomLinks } from "./RoomLinks";
import { ServerForm } from "./ServerForm";
import { SignInDialog } from "./SignInDialog";
import { ServerRow, type Opening } from "./ServerRow";
import classes from "./Servers.module.css";
import { Toolbar } from "./Toolbar";
import { ToolsDialog } from "./ToolsDialog";

/** From this many servers on, a field finds them. */
const MANY = 8;

/** Which dialog is open, and for which server. */
type Opened = { kind: Opening | "form" | "import"; id: string | null; next?: readonly string[] } | null;

const fits = (server: ServerView, query: string) =>
  `${server.name} ${server.address} ${server.label}`.toLowerCase().includes(query.trim().toLowerCase());

/** Other parts of the page send people here with "?add=1", "?server=ID", "?key=ID" or "?sign-in=ID". */
function asked(): { opened: Opened; server: string | null } {
  const query = new URLSearchParams(location.search);
  const [signIn, key] = [query.get("sign-in"), query.get("key")];
  const form: Opened = query.has("add") ? { kind: "form", id: null } : null;
  const opened: Opened = signIn ? { kind: "sign-in", id: signIn } : key ? { kind: "key", id: key } : form;
  return { opened, server: query.get("server") ?? signIn ?? key };
}

/** Up and Down go from row to row; Tab would take two steps for each. */
function moveFocus(event: KeyboardEvent<HTMLUListElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-pick]")];
  const at = rows.findIndex((row) => row === event.target);
  if (!step || at < 0) return;
  event.preventDefault();
  rows[at + step]?.focus();
}

function FileProblem() {
  const problem = useApp((state) => state.servers.problem);
  const isTold = useApp((state) => state.config?.problem?.message === state.servers.problem?.message);
  if (!problem || isTold) return null;
  return (
    <Warning title="Some servers in the settings file cannot be read">
      <Place {...problem} />
      <p>{problem.message} The last good version stays in force.</p>
    </Warning>
  );
}

function Find({ count, query, onChange }: { count: number; query: string; onChange: (query: string) => void }) {
  return (
    <TextInput
      size="xs"
      aria-label="Find a server"
      placeholder={`Find among ${count} servers`}
      leftSection={<SearchIcon size={15} />}
      value={query}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function focusRow(id: string): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-server="${CSS.escape(id)}"] [data-pick]`)?.focus());
}

interface DialogsProps {
  opened: Opened;
  servers: readonly ServerView[];
  onOpen: Dispatch<SetStateAction<Opened>>;
  onSaved: (server: ServerView) => void;
}

function Dialogs({ opened, servers, onOpen, onSaved }: DialogsProps) {
  const close = () => onOpen(null);
  // What was begun in a dialog may end after another one was opened, which then stays.
  const instead = (next: Opened) => onOpen((now) => (now === opened ? next : now));
  const server = servers.find(({ id }) => id === opened?.id) ?? null;
  const of = (kind: Opening) => (opened?.kind === kind ? server : null);
  // What was just saved may have to be looked at before it starts.
  const saved = (made: ServerView, wantsSignIn: boolean) => {
    onSaved(made);
    const next = needsConsent(made) ? "consent" : wantsSignIn ? "sign-in" : null;
    instead(next && { kind: next, id: made.id });
  };
  const isForm = opened?.kind === "form" || (opened?.kind === "key" && server !== null);
  const key = opened?.kind === "key" && server ? (server.keys.find(({ source }) => source === "missing") ?? server.keys[0]) : null;
  // Commands that came together are looked at one after the other.
  const look = (ids: readonly string[]) => {
    const [id, ...next] = ids;
    instead(id ? { kind: "consent", id, next } : null);
  };
  const decided = () => {
    if (opened?.id) focusRow(opened.id);
    look(opened?.next ?? []);
  };
  return (
    <>
      <ServerForm server={isForm ? (server ?? "new") : null} at={key?.id ?? null} onClose={close} onSaved={saved} />
      <ConsentDialog server={of("consent")} onClose={decided} />
      <SignInDialog server={of("sign-in")} onClose={close} />
      <ToolsDialog server={of("tools")} onClose={close} />
      <LogDialog server={of("log")} onClose={close} />
      <ImportDialog opened={opened?.kind === "import"} onClose={close} onLook={look} />
    </>
  );
}

/** The MCP servers: which there are, how they are, and everything that can be done with one. */
export function Servers() {
  const servers = useApp((state) => state.servers.servers);
  const [query, setQuery] = useState("");
  const [selected, setSelected] = useState<string | null>(() => asked().server);
  const [opened, setOpened] = useState<Opened>(() => asked().opened);
  useEffect(() => {
    void loadServers().catch(tell);
    // The address asked once; a reload must not ask again.
    navigate(settingsPath("mcp"), "replace");
  }, []);
  const shown = servers.filter((server) => fits(server, query));
  // How it goes with what was saved is in sight.
  const saved = (made: ServerView) => {
    if (!fits(made, query)) setQuery("");
    setSelected(made.id);
  };
  const chosen = shown.find(({ id }) => id === selected) ?? null;
  const toggle = async (server: ServerView, enabled: boolean) => {
    const now = await changeServers(api.patchServer(server.id, { enabled }));
    if (needsConsent(now)) setOpened({ kind: "consent", id: now.id });
  };
  return (
    <section aria-label="MCP servers" className={classes.section}>
      <div className={classes.sectionHead}>
        <h2 className="ph-section-title">MCP servers</h2>
        <RoomLinks current={null} />
      </div>
      <p className="ph-explained">
        Programs and services whose tools a model may use. A local program starts only after you have seen its command.
      </p>
      <FileProblem />
      {servers.length > MANY && <Find count={servers.length} query={query} onChange={setQuery} />}
      <div className="ph-list-box">
        <ul className={classes.rows} onKeyDown={moveFocus}>
          {shown.map((server) => (
            <ServerRow
              key={server.id}
              server={server}
              isSelected={server.id === selected}
              onSelect={setSelected}
              onToggle={toggle}
              onOpen={(kind) => setOpened({ kind, id: server.id })}
            />
          ))}
        </ul>
        {shown.length === 0 && (
          <p className={`ph-lead ${classes.none}`}>{servers.length ? "No server fits." : "No servers yet. Add the first below."}</p>
        )}
        <Toolbar
          chosen={chosen}
          onAdd={() => setOpened({ kind: "form", id: null })}
          onEdit={() => chosen && setOpened({ kind: "form", id: chosen.id })}
          onImport={() => setOpened({ kind: "import", id: null })}
        />
      </div>
      <Dialogs opened={opened} servers={servers} onOpen={setOpened} onSaved={saved} />
    </section>
  );
}

import { Button, TextInput } from "@mantine/core";
import { useEffect, useState, type KeyboardEvent } from "react";
import { api } from "../api/client";
import type { ServerView } from "../api/types";
import { useDropped } from "../composer/drops";
import { SearchIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { navigate, settingsPath } from "../shell/router";
import { Place, Warning } from "../settings/Warning";
import { useApp } from "../store/store";
import { changeServers, isLookedUp, loadServers, needsConsent } from "./actions";
import { RoomLinks } from "./RoomLinks";
import { ServerDialogs, type Opened } from "./ServerDialogs";
import { ServerRow } from "./ServerRow";
import classes from "./Servers.module.css";
import { Toolbar } from "./Toolbar";

/** From this many servers on, a field finds them. */
const MANY = 8;

const fits = (server: ServerView, query: string) =>
  `${server.name} ${server.address} ${server.label}`.toLowerCase().includes(query.trim().toLowerCase());

/** Other parts of the page send people here with "?add=1", "?server=ID", "?key=ID" or "?sign-in=ID". */
function asked(): { opened: Opened; server: string | null } {
  const query = new URLSearchParams(location.search);
  const [signIn, key] = [query.get("sign-in"), query.get("key")];
  const find: Opened = query.has("add") ? { kind: "find", id: null } : null;
  const opened: Opened = signIn ? { kind: "sign-in", id: signIn } : key ? { kind: "key", id: key } : find;
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

/** Leads to the first one. */
function None({ onFind }: { onFind: () => void }) {
  return (
    <div className={classes.none}>
      <p className="ph-lead">No servers yet. Find one by a word or two, or paste what its page says.</p>
      <Button size="xs" variant="light" leftSection={<SearchIcon size={14} />} onClick={onFind}>
        Find a server…
      </Button>
    </div>
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
  const find = (file: File | null) => setOpened({ kind: "find", id: null, file });
  useDropped(([file]) => file && find(file), "Drop a bundle (.mcpb) or a settings file to add its servers.");
  const chosen = shown.find(({ id }) => id === selected) ?? null;
  const toggle = async (server: ServerView, enabled: boolean) => {
    const now = await changeServers(api.patchServer(server.id, { enabled }));
    if (needsConsent(now) || isLookedUp(now)) setOpened({ kind: "consent", id: now.id });
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
        {shown.length === 0 && (servers.length ? <p className={`ph-lead ${classes.none}`}>No server fits.</p> : <None onFind={() => find(null)} />)}
        <Toolbar
          chosen={chosen}
          onAdd={() => find(null)}
          onEdit={() => chosen && setOpened({ kind: "form", id: chosen.id })}
          onImport={() => setOpened({ kind: "import", id: null })}
        />
      </div>
      <ServerDialogs opened={opened} servers={servers} onOpen={setOpened} onSaved={saved} />
    </section>
  );
}

import { lazy, Suspense, useRef, type Dispatch, type ReactNode, type SetStateAction } from "react";
import type { ServerView } from "../api/types";
import { isLookedUp, needsConsent } from "./actions";
import { ConsentDialog } from "./ConsentDialog";
import { LogDialog } from "./LogDialog";
import { ServerForm } from "./ServerForm";
import type { Opening } from "./ServerRow";
import { SignInDialog } from "./SignInDialog";
import { ToolsDialog } from "./ToolsDialog";

// What few people open each day is not loaded with the list.
const FindDialog = lazy(() => import("../finding/FindDialog"));
const ImportDialog = lazy(() => import("./ImportDialog"));
const NearbyDialog = lazy(() => import("../finding/NearbyDialog"));
const NewerDialog = lazy(() => import("../finding/NewerDialog"));
const ExportDialog = lazy(() => import("../finding/ExportDialog"));

/** Which dialog is open, and for which server. */
export type Opened = {
  kind: Opening | "find" | "form" | "import" | "nearby";
  id: string | null;
  /** Commands to look at after this one. */
  next?: readonly string[];
  /** What was dropped on the list. */
  file?: File | null;
  /** Whether other programs' files are read at once: the person said so. */
  looks?: boolean;
} | null;

/** Draws something from when it is first wanted on: until then it is not loaded. */
function Once({ wanted, children }: { wanted: boolean; children: ReactNode }) {
  const was = useRef(false);
  if (wanted) was.current = true;
  return was.current && <Suspense fallback={null}>{children}</Suspense>;
}

function focusRow(id: string): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-server="${CSS.escape(id)}"] [data-pick]`)?.focus());
}

interface AddingProps {
  opened: Opened;
  onOpen: (next: Opened) => void;
  onAdded: () => void;
  onSaved: (server: ServerView, wantsSignIn: boolean) => void;
  /** These wait for a look at their commands. */
  onLook: (ids: readonly string[]) => void;
}

/** The ways to come by a server. */
function Adding({ opened, onOpen, onAdded, onSaved, onLook }: AddingProps) {
  const close = () => onOpen(null);
  const is = (kind: NonNullable<Opened>["kind"]) => opened?.kind === kind;
  return (
    <>
      <Once wanted={is("find")}>
        <FindDialog
          opened={is("find")}
          dropped={opened?.file ?? null}
          onClose={close}
          onSaved={onSaved}
          onImport={() => onOpen({ kind: "import", id: null, looks: true })}
          onNearby={() => onOpen({ kind: "nearby", id: null })}
          onByHand={() => onOpen({ kind: "form", id: null })}
        />
      </Once>
      <Once wanted={is("import")}>
        <ImportDialog opened={is("import")} looks={opened?.looks ?? false} onClose={close} onLook={onLook} />
      </Once>
      <Once wanted={is("nearby")}>
        <NearbyDialog opened={is("nearby")} onClose={close} onAdded={onAdded} />
      </Once>
    </>
  );
}

interface DialogsProps {
  opened: Opened;
  servers: readonly ServerView[];
  onOpen: Dispatch<SetStateAction<Opened>>;
  /** It was added or changed, and how it goes with it should be in sight. */
  onSaved: (server: ServerView) => void;
}

/** Every dialog about the servers; at most one of them is open. */
export function ServerDialogs({ opened, servers, onOpen, onSaved }: DialogsProps) {
  const close = () => onOpen(null);
  // What was begun in a dialog may end after another one was opened, which then stays.
  const instead = (next: Opened) => onOpen((now) => (now === opened ? next : now));
  const server = servers.find(({ id }) => id === opened?.id) ?? null;
  const of = (kind: Opening) => (opened?.kind === kind ? server : null);
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
  // What was just saved may have to be looked at before it starts.
  const saved = (made: ServerView, wantsSignIn: boolean) => {
    onSaved(made);
    const next = needsConsent(made) || isLookedUp(made) ? "consent" : wantsSignIn ? "sign-in" : null;
    instead(next && { kind: next, id: made.id });
  };
  const added = () => instead(null);
  return (
    <>
      <ServerForm server={isForm ? (server ?? "new") : null} at={key?.id ?? null} onClose={close} onSaved={saved} />
      <ConsentDialog server={of("consent")} onClose={decided} />
      <SignInDialog server={of("sign-in")} onClose={close} />
      <ToolsDialog server={of("tools")} onClose={close} />
      <LogDialog server={of("log")} onClose={close} />
      <Adding opened={opened} onOpen={instead} onAdded={added} onSaved={saved} onLook={look} />
      <Once wanted={opened?.kind === "newer"}>
        <NewerDialog server={of("newer")} onClose={close} />
      </Once>
      <Once wanted={opened?.kind === "export"}>
        <ExportDialog server={of("export")} onClose={close} />
      </Once>
    </>
  );
}

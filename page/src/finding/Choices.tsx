import { Loader } from "@mantine/core";
import { useEffect, useRef, type ReactNode } from "react";
import type { FoundServer, Proposal, RegistryView } from "../api/types";
import { Seen } from "../servers/Plain";
import { VerifiedIcon, WarningIcon } from "../shell/icons";
import { dateWords, isOpen, usesWords, type Choice } from "./asked";
import classes from "./Finding.module.css";

/** Where a server was found, by the names of the registries. */
function Badges({ ids, registries }: { ids: readonly string[]; registries: readonly RegistryView[] }) {
  return ids.map((id) => {
    const known = registries.find((registry) => registry.id === id);
    return (
      <span key={id} className={classes.badge} data-registry={known?.own ? "own" : id}>
        <Seen text={known?.name ?? id} />
      </span>
    );
  });
}

const statuses = { active: "", deprecated: "Deprecated", deleted: "Taken out of its registry" } as const;

function Status({ server: { status, statusNote } }: { server: FoundServer }) {
  if (status === "active") return null;
  return (
    <span className={classes.warns}>
      <WarningIcon size={13} />
      {statuses[status]}
      {statusNote && (
        <>
          : <Seen text={statusNote} />
        </>
      )}
    </span>
  );
}

function Warns({ sentences }: { sentences: readonly string[] }) {
  return sentences.map((sentence) => (
    <span key={sentence} className={classes.warns}>
      <WarningIcon size={13} />
      <Seen text={sentence} />
    </span>
  ));
}

function Found({ server, registries, isBusy }: { server: FoundServer; registries: readonly RegistryView[]; isBusy: boolean }) {
  const facts = [server.version, usesWords(server.uses), dateWords(server.updatedAt), server.licence].filter(Boolean);
  return (
    <>
      <span className={classes.head}>
        <span className={classes.title}>
          <Seen text={server.title || server.name} />
        </span>
        {server.verified && (
          <span className={classes.verified} title="Verified by its registry">
            <VerifiedIcon size={15} />
            <span className="ph-hidden">verified</span>
          </span>
        )}
        <Badges ids={server.registries} registries={registries} />
        <span className={classes.facts}>{isBusy ? <Loader size={13} aria-label="Reading it" /> : <Seen text={facts.join(" · ")} />}</span>
      </span>
      <span className={classes.description}>
        <Seen text={server.description} />
      </span>
      <span className={classes.named}>
        <span>
          <Seen text={server.name} />
        </span>
        {server.runs.map((line) => (
          <span key={line} className={classes.runs}>
            <Seen text={line} />
          </span>
        ))}
      </span>
      <Status server={server} />
      <Warns sentences={server.warnings} />
    </>
  );
}

const kinds: Record<Proposal["kind"], string> = {
  npm: "npm",
  pypi: "PyPI",
  docker: "Container",
  mcpb: "Bundle",
  http: "Address",
  command: "Command",
};

function Proposed({ proposal }: { proposal: Proposal }) {
  return (
    <>
      <span className={classes.head}>
        <span className={classes.title}>
          <Seen text={proposal.name} />
        </span>
        <span className={classes.badge}>{kinds[proposal.kind]}</span>
      </span>
      {proposal.description && (
        <span className={classes.description}>
          <Seen text={proposal.description} />
        </span>
      )}
      <span className={classes.runs}>
        <Seen text={proposal.runs} />
      </span>
      {proposal.problem && <span className={classes.refused}>{proposal.problem}</span>}
      <Warns sentences={proposal.warnings} />
    </>
  );
}

interface RowProps {
  id: string;
  choice: Choice;
  isAt: boolean;
  onChoose: () => void;
  children: ReactNode;
}

function Row({ id, choice, isAt, onChoose, children }: RowProps) {
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isAt) row.current?.scrollIntoView({ block: "nearest" });
  }, [isAt]);
  const canChoose = isOpen(choice);
  return (
    <div
      ref={row}
      id={id}
      role="option"
      aria-selected={isAt}
      aria-disabled={!canChoose}
      className={classes.row}
      // The box keeps the focus, so that typing goes on.
      onMouseDown={(event) => event.preventDefault()}
      onClick={canChoose ? onChoose : undefined}
    >
      {children}
    </div>
  );
}

interface ChoicesProps {
  id: string;
  choices: readonly Choice[];
  registries: readonly RegistryView[];
  at: number;
  /** The one that was chosen, while its registry is asked about it. */
  opening: string;
  /** They belong to what was typed before. */
  isOld: boolean;
  onChoose: (choice: Choice) => void;
}

/** What was found, a row each; a click goes on with it. */
export function Choices({ id, choices, registries, at, opening, isOld, onChoose }: ChoicesProps) {
  if (choices.length === 0) return null;
  return (
    <div id={id} role="listbox" aria-label="Servers" className={classes.rows} data-old={isOld || undefined}>
      {choices.map((choice, place) => (
        <Row key={choice.id} id={`${id}-${choice.id}`} choice={choice} isAt={place === at} onChoose={() => onChoose(choice)}>
          {choice.kind === "found" ? (
            <Found server={choice.server} registries={registries} isBusy={opening === choice.id} />
          ) : (
            <Proposed proposal={choice.proposal} />
          )}
        </Row>
      ))}
    </div>
  );
}

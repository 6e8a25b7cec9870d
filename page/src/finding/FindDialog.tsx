import { Button } from "@mantine/core";
import { useEffect, useId, useRef, useState } from "react";
import { errorText } from "../api/client";
import { finding } from "../api/finding";
import type { FoundServer, Proposal, RegistryView, ServerView } from "../api/types";
import { useDropped } from "../composer/drops";
import { Dialog } from "../shell/Dialog";
import { DialogFoot } from "../shell/DialogFoot";
import { Failure } from "../settings/Warning";
import { Said } from "../shell/Said";
import type { Choice } from "./asked";
import { Box } from "./Box";
import { Choices } from "./Choices";
import { Configure } from "./Configure";
import classes from "./Finding.module.css";
import { KeyWanted } from "./KeyWanted";
import { OtherWays, type OtherWaysProps } from "./OtherWays";
import { Registries } from "./Registries";
import { useAsked, type Asked } from "./useAsked";
import { useRegistries } from "./useRegistries";

/** What was chosen, to be filled in. */
interface Chosen {
  title: string;
  what: string;
  proposals: readonly Proposal[];
}

/** How far the dialog is. */
type Step = { name: "find" } | { name: "registries" } | { name: "configure"; chosen: Chosen };

const HINT = "Words, a package, a command, an address, a link, or a snippet out of a README.";
const DROP = "Drop a bundle (.mcpb) or a settings file to add its servers.";

/** Return what the box has to say in one line: what a text is, how many were found, or that it is looked for. */
function statusOf({ text, understood, found, isBusy, isOld }: Asked): string {
  if (understood?.file) return `${understood.file}: ${understood.recognised.what}`;
  if (understood && understood.recognised.what && !understood.recognised.words) return understood.recognised.what;
  if (found && !isOld) {
    const shown = found.servers.length;
    if (shown === 0) return `Nothing found for “${text.trim()}”.`;
    return found.total > shown ? `The best ${shown} of ${found.total} servers` : shown === 1 ? "1 server" : `${shown} servers`;
  }
  if (!text.trim()) return HINT;
  return isBusy ? "Looking…" : "";
}

/** What the registries have to say about themselves: they did not answer, or want a key. */
function Notes({ asked, registries, onKept }: { asked: Asked; registries: readonly RegistryView[]; onKept: (list: readonly RegistryView[]) => void }) {
  if (!asked.found) return null;
  const wanted = asked.found.keyWanted.map((id) => registries.find((one) => one.id === id) ?? { id, name: id });
  return (
    <div className={classes.notes}>
      {asked.found.notes.map((note) => (
        <p key={note}>
          <Said text={note} />
        </p>
      ))}
      {wanted.map((registry) => (
        <KeyWanted
          key={registry.id}
          registry={registry}
          onKept={(list) => {
            onKept(list.registries);
            asked.again();
          }}
        />
      ))}
    </div>
  );
}

/** Ask a registry what a found server takes; `onRead` hears it, unless something else was done meanwhile. */
function useOpening(onRead: (chosen: Chosen) => void) {
  const [opening, setOpening] = useState("");
  const [problem, setProblem] = useState("");
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const open = (id: string, { registries, name, title }: FoundServer) => {
    running.current?.abort();
    const mine = new AbortController();
    running.current = mine;
    setOpening(id);
    setProblem("");
    const done = (act: () => void) => {
      if (mine.signal.aborted) return;
      setOpening("");
      act();
    };
    finding.proposals(registries[0] ?? "", name, mine.signal).then(
      ({ what, proposals }) => done(() => (proposals.length ? onRead({ title: title || name, what, proposals }) : setProblem(what))),
      (error: unknown) => done(() => setProblem(errorText(error))),
    );
  };
  const stop = () => {
    running.current?.abort();
    setOpening("");
    setProblem("");
  };
  return { opening, problem, open, stop };
}

interface FindProps {
  asked: Asked;
  registries: readonly RegistryView[];
  ways: OtherWaysProps;
  onRegistries: () => void;
  onKept: (list: readonly RegistryView[]) => void;
  onChosen: (chosen: Chosen) => void;
  onClose: () => void;
}

/** The box, and what it found. */
function Find({ asked, registries, ways, onRegistries, onKept, onChosen, onClose }: FindProps) {
  const listId = useId();
  const { opening, problem, open, stop } = useOpening(onChosen);
  const { choices } = asked;
  // A list that changed begins anew.
  const key = asked.isOld ? "" : choices.map(({ id }) => id).join() + asked.text;
  const [at, setAt] = useState({ key: "", place: -1 });
  const place = at.key === key ? at.place : -1;
  const choose = (choice: Choice) => {
    if (choice.kind === "found") return open(choice.id, choice.server);
    const { name, ...rest } = choice.proposal;
    return onChosen({ title: name, what: asked.understood?.recognised.what ?? "", proposals: [{ name, ...rest }] });
  };
  const isEmpty = !asked.text.trim() && !asked.understood?.file && !asked.isBusy;
  return (
    <div className={classes.find}>
      <div className={classes.top}>
        <Box
          asked={{ ...asked, type: (text) => (stop(), asked.type(text)) }}
          registries={registries}
          listId={listId}
          at={place}
          onMove={(next) => setAt({ key, place: next })}
          onChoose={choose}
          onRegistries={onRegistries}
        />
        <p role="status" className={classes.status}>
          {statusOf(asked)}
        </p>
      </div>
      <Failure message={problem || (asked.isOld ? "" : asked.problem)} />
      {isEmpty ? (
        <OtherWays {...ways} />
      ) : (
        <>
          <Notes asked={asked} registries={registries} onKept={onKept} />
          <Choices
            id={listId}
            choices={choices}
            registries={registries}
            at={place}
            opening={opening}
            isOld={asked.isOld}
            onChoose={choose}
          />
        </>
      )}
      <DialogFoot>
        {!isEmpty && (
          <Button variant="subtle" color="gray" className={classes.byHand} onClick={ways.onByHand}>
            Enter it by hand
          </Button>
        )}
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
      </DialogFoot>
    </div>
  );
}

/** Return the only one that can be had of what a file holds: it was meant. */
function onlyOne({ understood }: Asked): Chosen | null {
  const open = understood?.file ? understood.recognised.proposals.filter(({ server }) => server !== null) : [];
  const [proposal] = open;
  if (!understood || !proposal || understood.recognised.proposals.length !== 1) return null;
  return { title: proposal.name, what: understood.recognised.what, proposals: [proposal] };
}

interface FindDialogProps extends Omit<OtherWaysProps, "onFile"> {
  /** A file that was dropped where the servers are listed. */
  dropped: File | null;
  onClose: () => void;
  onSaved: (server: ServerView, wantsSignIn: boolean) => void;
}

function useSteps(dropped: File | null) {
  const [file, setFile] = useState(dropped);
  const [step, setStep] = useState<Step>({ name: "find" });
  const asked = useAsked(file, () => setFile(null));
  const only = onlyOne(asked);
  const [gone, setGone] = useState<File | null>(null);
  // Whoever drops a file means it; who comes back from there sees what it is.
  if (file && only && gone !== file) {
    setGone(file);
    setStep({ name: "configure", chosen: only });
  }
  const take = (next: File) => {
    setGone(null);
    setFile(next);
    setStep({ name: "find" });
  };
  return { step, setStep, asked, take };
}

function Steps({ dropped, onClose, onSaved, onTitle, ...ways }: FindDialogProps & { onTitle: (title: string) => void }) {
  const { step, setStep, asked, take } = useSteps(dropped);
  const { registries, set } = useRegistries();
  useDropped(([file]) => file && take(file), DROP);
  const title = step.name === "configure" ? `Configure: ${step.chosen.title}` : step.name === "registries" ? "Registries" : "Add a server";
  useEffect(() => onTitle(title), [title]);
  const back = () => setStep({ name: "find" });
  if (step.name === "registries") return <Registries registries={registries} onChange={set} onBack={back} />;
  if (step.name === "configure") {
    const { proposals, what } = step.chosen;
    return <Configure proposals={proposals} what={what} onBack={back} onSaved={onSaved} />;
  }
  return (
    <Find
      asked={asked}
      registries={registries}
      ways={{ ...ways, onFile: take }}
      onRegistries={() => setStep({ name: "registries" })}
      onKept={set}
      onChosen={(chosen) => setStep({ name: "configure", chosen })}
      onClose={onClose}
    />
  );
}

/** Finds a server and adds it: by words, by whatever was pasted, or by a file. */
export default function FindDialog({ opened, ...props }: FindDialogProps & { opened: boolean }) {
  const [title, setTitle] = useState("Add a server");
  return (
    <Dialog about={opened || null} title={() => title} size="xl" onClose={props.onClose} closeOnClickOutside={false}>
      {() => <Steps {...props} onTitle={setTitle} />}
    </Dialog>
  );
}

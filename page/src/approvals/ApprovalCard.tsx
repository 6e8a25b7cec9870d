import { useRef, type ReactNode, type RefObject } from "react";
import type { Item } from "../api/types";
import { modeNames } from "../policy/modes";
import { Seen } from "../servers/Plain";
import { QuestionIcon, WarningIcon } from "../shell/icons";
import { useApp } from "../store/store";
import classes from "./Approvals.module.css";
import { askedOf, titleOf, type Asked } from "./asked";
import { Choices } from "./Choices";
import { useAnswers } from "./useAnswers";
import { WhatRuns } from "./WhatRuns";

/** Words of the model's or a server's, marked as theirs: they are no part of what is decided about. */
function Foreign({ whose, children }: { whose: string; children: string }) {
  return (
    <figure className={classes.foreign}>
      <figcaption>{whose}</figcaption>
      <blockquote>
        <Seen text={children} prose />
      </blockquote>
    </figure>
  );
}

/** Why the person is asked, and what others say about it. */
export function Reasons({ asked }: { asked: Asked }) {
  const mode = useApp((state) => state.open?.conversation.settings.mode ?? "ask");
  // What could be allowed for longer is asked about because nobody said anything yet.
  const byMode = asked.choices.has("conversation") ? ` The mode ${modeNames[mode]} asks about that.` : "";
  return (
    <>
      {asked.why && asked.why !== asked.dangerous && (
        <p className={classes.why}>
          <span className={classes.whyLabel}>Why it asks:</span> {asked.why}
          {byMode}
          {asked.rule && <code className={classes.rule}>{asked.rule}</code>}
        </p>
      )}
      {asked.modelSays && <Foreign whose="The model’s words, which may be wrong or misled">{asked.modelSays}</Foreign>}
      {asked.server && asked.description && (
        <Foreign whose={`${asked.server} says about this tool`}>{asked.description}</Foreign>
      )}
    </>
  );
}

interface FrameProps {
  title: string;
  dangerous: string;
  children: (card: RefObject<HTMLElement | null>) => ReactNode;
}

/** The card around a decision; one about something dangerous looks different. */
export function Frame({ title, dangerous, children }: FrameProps) {
  const card = useRef<HTMLElement>(null);
  return (
    <section
      ref={card}
      className={classes.card}
      data-approval
      data-dangerous={dangerous !== "" || undefined}
      aria-label="Approval"
      tabIndex={-1}
    >
      {dangerous && (
        <p className={classes.danger}>
          <WarningIcon size={16} />
          <span>
            <strong>Dangerous.</strong> {dangerous}
          </span>
        </p>
      )}
      <h3 className={classes.title}>
        {!dangerous && <QuestionIcon size={15} />}
        <span>
          <Seen text={title} />
        </span>
      </h3>
      {children(card)}
    </section>
  );
}

/** Leave for one call: exactly what will run, why it is asked, what others say, then the choices. */
export function ApprovalCard({ item }: { item: Item }) {
  const asked = askedOf(item.data);
  const { isSending, send } = useAnswers([item]);
  const what = { choices: asked.choices, dangerous: asked.dangerous, proposal: asked.proposal, count: 1 };
  return (
    <Frame title={titleOf(item)} dangerous={asked.dangerous}>
      {(card) => (
        <>
          <WhatRuns asked={asked} />
          <Reasons asked={asked} />
          <Choices what={what} card={card} isSending={isSending} onAnswer={send} />
        </>
      )}
    </Frame>
  );
}

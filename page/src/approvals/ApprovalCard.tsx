import { Button } from "@mantine/core";
import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { QuestionOf } from "../api/items";
import { Seen } from "../servers/Plain";
import { ChevronDownIcon, QuestionIcon, WarningIcon } from "../shell/icons";
import classes from "./Approvals.module.css";
import { askedOf, risksOf, type Asked } from "./asked";
import { Calls } from "./Calls";
import { Always, Choices, type Together } from "./Choices";
import { changed, lasting, once } from "./choices";
import { EditArguments } from "./EditArguments";
import { decidable, headingOf } from "./group";
import { Reasons } from "./Reasons";
import { useAnswers } from "./useAnswers";
import { ARMING_MS, DANGEROUS_ARMING_MS, useArmed } from "./useArmed";
import { useGiven, useSettingsOf, type GivenToCall } from "./useGiven";
import { useSeenToItsEnd } from "./useSeenToItsEnd";
import { WhatElse, WhatRuns } from "./WhatRuns";

type Approval = QuestionOf<"approval">;

interface HeadProps {
  title: string;
  asked: Asked;
  /** Of several, which one this is. */
  pager: ReactNode;
  children: ReactNode;
}

/** What is asked and what about it is risky; beside it what else can be looked at. */
function Head({ title, asked, pager, children }: HeadProps) {
  const risks = risksOf(asked);
  return (
    <header className={classes.head}>
      <h3 className={`ph-with-icon ph-question ${classes.title}`}>
        {asked.dangerous ? <WarningIcon size={16} /> : <QuestionIcon size={16} />}
        <span>
          <Seen text={title} />{" "}
          {risks.length > 0 && (
            <span className={classes.risks}>
              <Seen text={risks.join("; ")} />
            </span>
          )}
        </span>
      </h3>
      <span className={classes.tools}>
        {pager}
        {children}
      </span>
    </header>
  );
}

interface ToolProps {
  label: string;
  icon: ReactNode;
  isOpen?: boolean;
  onClick: () => void;
}

function Tool({ label, icon, isOpen, onClick }: ToolProps) {
  return (
    <Button size="compact-xs" variant="subtle" color="gray" rightSection={icon} aria-expanded={isOpen} onClick={onClick}>
      {label}
    </Button>
  );
}

interface BodyProps {
  items: readonly Approval[];
  asked: Asked;
  given: GivenToCall;
  hasDetails: boolean;
}

/** What will run; behind Details why it asks, what others say, and everything else that it touches. */
function Body({ items, asked, given, hasDetails }: BodyProps) {
  const conversationId = items[0]?.conversationId ?? "";
  const folder = useSettingsOf(conversationId).workingDirectory;
  const what = { asked, given, folder };
  return (
    <div className={classes.what}>
      {items.length > 1 ? <Calls items={items} folder={folder} /> : <WhatRuns {...what} />}
      {hasDetails && (
        <>
          {items.length === 1 && <WhatElse {...what} />}
          <Reasons asked={asked} conversationId={conversationId} />
        </>
      )}
    </div>
  );
}

interface CardProps {
  /** One, or several of the same shape. */
  items: readonly [Approval, ...Approval[]];
  pager?: ReactNode;
  together?: Together | null;
  onSplit?: () => void;
}

type Step = "choose" | "always" | "edit";

/** Permission for a call, or for several of the same shape: what will run, then the answers in one row. */
export function ApprovalCard({ items, pager, together = null, onSplit }: CardProps) {
  const [first] = items;
  const all = items.map(({ data }) => askedOf(data));
  const asked = askedOf(first.data);
  const what = decidable(all);
  const { isSending, send } = useAnswers(items);
  const given = useGiven(first);
  const folder = useSettingsOf(first.conversationId).workingDirectory;
  const [step, setStep] = useState<Step>("choose");
  const [hasDetails, setDetails] = useState(false);
  const card = useRef<HTMLElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const isDangerous = what.dangerous !== "";
  const isReady = useArmed(card, isDangerous ? DANGEROUS_ARMING_MS : ARMING_MS);
  const { hasMore, wasSeen } = useSeenToItsEnd(body, step === "choose");
  // A command whose end is out of sight may end in anything.
  const isUnseen = asked.command !== null && !wasSeen;
  const isArmed = isReady && !isUnseen;
  const back = () => {
    setStep("choose");
    card.current?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.target !== event.currentTarget || step !== "choose") return;
    event.preventDefault();
    const isMeant = event.nativeEvent.isTrusted && !event.repeat && isArmed && !isDangerous && document.hasFocus();
    if (isMeant) send(once);
  };
  const canEdit = items.length === 1 && step === "choose" && !given.isMasked && Object.keys(given.arguments ?? {}).length > 0;
  return (
    <section
      ref={card}
      className={`ph-asking ${classes.card}`}
      data-approval
      data-dangerous={isDangerous || undefined}
      aria-label="Approval"
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <Head title={headingOf(items, folder)} asked={asked} pager={pager}>
        {onSplit && step === "choose" && <Tool label="One by one" icon={null} onClick={onSplit} />}
        {canEdit && <Tool label="Edit" icon={null} onClick={() => setStep("edit")} />}
        {step === "choose" && (
          <Tool label="Details" icon={<ChevronDownIcon size={14} />} isOpen={hasDetails} onClick={() => setDetails(!hasDetails)} />
        )}
      </Head>
      {isDangerous && (
        <p className={`ph-bad ${classes.danger}`}>
          <strong>Dangerous.</strong> {what.dangerous} Enter does not allow this.
        </p>
      )}
      {step === "choose" && (
        <div ref={body} className={classes.body} data-more={hasMore || undefined}>
          <Body items={items} asked={asked} given={given} hasDetails={hasDetails} />
        </div>
      )}
      {step === "choose" && isUnseen && <p className={classes.hint}>Its end is below; look at it before you allow it.</p>}
      {step === "choose" && (
        <Choices
          what={what}
          isArmed={isArmed}
          isSending={isSending}
          together={together}
          onAnswer={send}
          onAlways={() => setStep("always")}
        />
      )}
      {step === "always" && what.proposal && (
        <Always
          proposal={what.proposal}
          isSending={isSending}
          onAllow={(pattern) => send(lasting("always", pattern))}
          onCancel={back}
        />
      )}
      {step === "edit" && given.arguments && (
        <EditArguments
          given={given.arguments}
          isArmed={isReady}
          isSending={isSending}
          onAllow={(value) => send(changed(value))}
          onCancel={back}
        />
      )}
    </section>
  );
}

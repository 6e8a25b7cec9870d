import { Button, Group } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import type { QuestionOf } from "../api/items";
import { useAnswer } from "../chat/useAnswer";
import { fieldOf, hasFreeText } from "../forms/fields";
import { safeLink } from "../markdown/links";
import { QuestionIcon } from "../shell/icons";
import { useApp } from "../store/store";
import classes from "./Calls.module.css";

const SchemaForm = lazy(() => import("../forms/SchemaForm").then((module) => ({ default: module.SchemaForm })));
const SignInDialog = lazy(() => import("../servers/SignInDialog").then((module) => ({ default: module.SignInDialog })));

type Send = ReturnType<typeof useAnswer>["send"];

interface Ask {
  item: QuestionOf<"elicitation">;
}

function Refusals({ send, isSending }: { send: Send; isSending: boolean }) {
  return (
    <>
      <Button size="compact-md" variant="default" disabled={isSending} onClick={() => send({ choice: "decline" })}>
        Decline
      </Button>
      <Button size="compact-md" variant="subtle" color="gray" disabled={isSending} onClick={() => send({ choice: "cancel" })}>
        Cancel the call
      </Button>
    </>
  );
}

function FormAsk({ item }: Ask) {
  const { isSending, send } = useAnswer(item);
  const { server, schema: asked } = item.data;
  const schema = asked ?? {};
  return (
    <Suspense fallback={null}>
      {hasFreeText(fieldOf(schema)) && (
        <p className={classes.never}>
          Never give a password or key here: {server || "the server"} sees what you type.
        </p>
      )}
      <SchemaForm
        schema={schema}
        submitLabel={Object.keys((schema.properties ?? {}) as object).length > 0 ? "Answer" : "Accept"}
        disabled={isSending}
        onSubmit={(content: Record<string, unknown>) => send({ choice: "accept", content })}
        actions={<Refusals send={send} isSending={isSending} />}
      />
    </Suspense>
  );
}

function UrlAsk({ item }: Ask) {
  const { isSending, send } = useAnswer(item);
  const [isOpened, setOpened] = useState(false);
  const { url = "" } = item.data;
  const link = safeLink(url);
  return (
    <>
      <p className={classes.address}>{link?.href ?? url}</p>
      {!link && <p className={classes.problem}>This address cannot be opened safely.</p>}
      <Group gap="xs">
        {link && (
          <Button
            component="a"
            size="compact-md"
            variant={isOpened ? "default" : "filled"}
            href={link.href}
            target="_blank"
            rel="noreferrer noopener"
            onClick={() => setOpened(true)}
          >
            Open {link.host}
          </Button>
        )}
        <Button
          size="compact-md"
          variant={isOpened ? "filled" : "default"}
          disabled={isSending || !link}
          onClick={() => send({ choice: "accept" })}
        >
          I have done it
        </Button>
        <Refusals send={send} isSending={isSending} />
      </Group>
    </>
  );
}

/** The call goes on by itself when someone has signed in, here or elsewhere. */
function SignInAsk({ item }: Ask) {
  const { isSending, send } = useAnswer(item);
  const [isOpened, setOpened] = useState(false);
  const server = useApp((state) => state.servers.servers.find(({ name }) => name === item.data.server)) ?? null;
  return (
    <>
      <p className={classes.sentence}>{item.text}</p>
      <Group gap="xs">
        <Button size="compact-md" disabled={isSending || !server} onClick={() => setOpened(true)}>
          Sign in
        </Button>
        <Button size="compact-md" variant="default" disabled={isSending} onClick={() => send({ choice: "decline" })}>
          Deny
        </Button>
      </Group>
      <Suspense fallback={null}>
        {isOpened && <SignInDialog server={server} onClose={() => setOpened(false)} />}
      </Suspense>
    </>
  );
}

/** Something the server of a tool wants to know before it goes on. */
export function Elicitation({ item }: Ask) {
  const { server, mode } = item.data;
  const who = server || "A server";
  const isSignIn = mode === "sign_in";
  return (
    <section className="ph-asking" aria-label="Question from a server" tabIndex={-1}>
      <p className={`ph-with-icon ${classes.decisionTitle}`}>
        <QuestionIcon size={15} />
        <span>{isSignIn ? `${who} asks you to sign in` : `${who} asks: ${item.text}`}</span>
      </p>
      {isSignIn && <SignInAsk item={item} />}
      {mode === "url" && <UrlAsk item={item} />}
      {!isSignIn && mode !== "url" && <FormAsk item={item} />}
    </section>
  );
}

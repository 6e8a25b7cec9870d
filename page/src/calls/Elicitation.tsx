import { Button, Group } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import type { Item } from "../api/types";
import { text } from "../chat/data";
import { useAnswer } from "../chat/useAnswer";
import { fieldOf, hasFreeText } from "../forms/fields";
import { safeLink } from "../markdown/links";
import { QuestionIcon } from "../shell/icons";
import classes from "./Calls.module.css";

const SchemaForm = lazy(() => import("../forms/SchemaForm").then((module) => ({ default: module.SchemaForm })));

type Send = ReturnType<typeof useAnswer>["send"];

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

function FormAsk({ item }: { item: Item }) {
  const { isSending, send } = useAnswer(item);
  const schema = (item.data.schema ?? {}) as Record<string, unknown>;
  return (
    <Suspense fallback={null}>
      {hasFreeText(fieldOf(schema)) && (
        <p className={classes.never}>
          Never give a password or key here: {text(item.data.server) || "the server"} sees what you type.
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

function UrlAsk({ item }: { item: Item }) {
  const { isSending, send } = useAnswer(item);
  const [isOpened, setOpened] = useState(false);
  const link = safeLink(text(item.data.url));
  return (
    <>
      <p className={classes.address}>{link?.href ?? text(item.data.url)}</p>
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

/** Something the server of a tool wants to know before it goes on. */
export function Elicitation({ item }: { item: Item }) {
  return (
    <section className={classes.decision} aria-label="Question from a server" tabIndex={-1}>
      <p className={classes.decisionTitle}>
        <QuestionIcon size={15} />
        <span>{`${text(item.data.server) || "A server"} asks: ${item.text}`}</span>
      </p>
      {item.data.mode === "url" ? <UrlAsk item={item} /> : <FormAsk item={item} />}
    </section>
  );
}

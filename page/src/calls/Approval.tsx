import { Button, Group } from "@mantine/core";
import type { Item } from "../api/types";
import { choicesOf, text } from "../chat/data";
import { useAnswer } from "../chat/useAnswer";
import { QuestionIcon } from "../shell/icons";
import { useApp } from "../store/store";
import classes from "./Calls.module.css";
import { Given } from "./Given";

/** Leave for one call: exactly what will be called, then the choices. */
export function Approval({ item }: { item: Item }) {
  const call = useApp((state) => state.open?.items.get(text(item.data.callItemId)));
  const { isSending, send } = useAnswer(item);
  const said = text(item.data.description);
  return (
    <section className={classes.decision} aria-label="Approval">
      <p className={classes.decisionTitle}>
        <QuestionIcon size={15} />
        <span>{item.text}</span>
      </p>
      {call && <Given call={call} />}
      {said && (
        <p className={classes.said}>
          {text(item.data.server) || "The server"} says about this tool: {said}
        </p>
      )}
      <Group gap="xs">
        {choicesOf(item).map((choice) => (
          <Button
            key={choice.id}
            size="compact-md"
            variant={choice.id === "allow" ? "filled" : "default"}
            disabled={isSending}
            onClick={() => send({ choice: choice.id })}
          >
            {choice.label}
          </Button>
        ))}
      </Group>
    </section>
  );
}

import { Button } from "@mantine/core";
import { api } from "../api/client";
import type { ModelView } from "../api/types";
import { age } from "../servers/words";
import { tell } from "../shell/messages";
import { changeModels } from "./actions";
import classes from "./Settings.module.css";

/** What the provider was found not to take: one line each, and a way to have it tried again. */
export function Learned({ model, onForgotten }: { model: ModelView; onForgotten: () => void }) {
  if (!model.learned.length) return null;
  const forget = () => changeModels(api.forgetLearned(model.id)).then(onForgotten).catch(tell);
  const now = Date.now() / 1000;
  return (
    <div className={classes.learned}>
      <ul aria-label={`Learned about ${model.name}`}>
        {model.learned.map((one) => (
          <li key={one.text}>
            {one.text}; learned {now - one.at < 60 ? "just now" : `${age(now - one.at)} ago`}
          </li>
        ))}
      </ul>
      <Button size="compact-xs" variant="light" onClick={forget} aria-label={`Forget what was learned about ${model.name}`}>
        Forget
      </Button>
    </div>
  );
}

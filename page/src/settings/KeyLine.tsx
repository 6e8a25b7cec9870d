import { Button } from "@mantine/core";
import { useState } from "react";
import { api } from "../api/client";
import type { ModelView } from "../api/types";
import { WarningIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { changeModels } from "./actions";
import { isInside } from "./providers";
import classes from "./Settings.module.css";

/** Return where a model's key comes from, in words. */
export function keyWords(model: ModelView): string {
  const { kind, name } = model.key;
  if (isInside(model.provider)) return "Needs no key";
  switch (kind) {
    case "none":
      return "Without a key";
    case "env":
      return `Key from the environment variable ${name}`;
    case "secret":
      return "Key stored as a secret";
    case "aws":
      return name ? `Signed with the AWS profile ${name}` : "Signed with the AWS credentials of the server's machine";
    case "google":
      return "With the Google credentials of the server's machine";
    case "copilot":
      return "With the sign-in to GitHub Copilot on the server's machine";
    case "literal":
      return "Key written in models.json (not recommended)";
  }
}

/** Where the key comes from and what is wrong with it; a key that has moved waits for a person's word. */
export function KeyLine({ model }: { model: ModelView }) {
  const [isConfirming, setConfirming] = useState(false);
  const confirm = () => {
    setConfirming(true);
    changeModels(api.confirmKey(model.id))
      .catch(tell)
      .finally(() => setConfirming(false));
  };
  return (
    <div className={classes.key}>
      <span>{keyWords(model)}</span>
      {model.key.problem && (
        <p className={`ph-with-icon ${classes.keyProblem}`}>
          <WarningIcon size={15} />
          <span>{model.key.problem}</span>
        </p>
      )}
      {model.key.moved && (
        <Button size="compact-xs" variant="light" loading={isConfirming} onClick={confirm}>
          Use it here
        </Button>
      )}
    </div>
  );
}

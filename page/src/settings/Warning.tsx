import { Alert } from "@mantine/core";
import type { ReactNode } from "react";
import type { FileProblem } from "../api/types";
import { WarningIcon } from "../shell/icons";
import { Said } from "../shell/Said";
import classes from "./Settings.module.css";

const parts = {
  title: classes.alertTitle ?? "",
  icon: classes.alertIcon ?? "",
  message: classes.alertText ?? "",
};

/** Something a person should know, with a title. */
export function Warning({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Alert icon={<WarningIcon />} title={title} classNames={{ ...parts, root: `ph-warning ${classes.alert}` }}>
      {children}
    </Alert>
  );
}

/** Why something did not work, in one sentence; nothing while there is none. */
export function Failure({ message }: { message: string }) {
  if (!message) return null;
  return (
    <Alert role="alert" classNames={{ ...parts, root: `ph-bad ${classes.alert}` }}>
      <Said text={message} />
    </Alert>
  );
}

/** Where in a file something is wrong. */
export function Place({ file, line }: Pick<FileProblem, "file" | "line">) {
  return (
    <code className={classes.place}>
      {file}
      {line !== null && `, line ${line}`}
    </code>
  );
}

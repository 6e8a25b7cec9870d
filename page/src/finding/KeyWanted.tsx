import { Button, PasswordInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { errorText } from "../api/client";
import { finding } from "../api/finding";
import type { RegistryList, RegistryView } from "../api/types";
import classes from "./Finding.module.css";

interface KeyWantedProps {
  registry: Pick<RegistryView, "id" | "name">;
  onKept: (registries: RegistryList) => void;
}

/** Takes the key of a registry that answers nobody without one. */
export function KeyWanted({ registry: { id, name }, onKept }: KeyWantedProps) {
  const [value, setValue] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    finding
      .setRegistryKey(id, value.trim())
      .then(onKept, (error: unknown) => setProblem(errorText(error)))
      .finally(() => setBusy(false));
  };
  return (
    <form onSubmit={submit} className={classes.keyWanted} autoComplete="off">
      <PasswordInput
        size="xs"
        className={classes.keyField}
        aria-label={`Key for ${name}`}
        placeholder={`Key for ${name}`}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ "aria-label": `Show the key for ${name}`, tabIndex: 0 }}
        value={value}
        error={problem}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
      <Button type="submit" size="xs" variant="default" loading={isBusy} disabled={!value.trim()}>
        Keep the key
      </Button>
    </form>
  );
}

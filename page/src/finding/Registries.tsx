import { ActionIcon, Button, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { errorText } from "../api/client";
import { finding } from "../api/finding";
import type { RegistryList, RegistryView } from "../api/types";
import dialogs from "../servers/Dialogs.module.css";
import { Plain } from "../servers/Plain";
import { counted } from "../servers/words";
import { moment } from "../shell/time";
import { DialogFoot } from "../shell/DialogFoot";
import { CloseIcon } from "../shell/icons";
import classes from "./Finding.module.css";
import { KeyWanted } from "./KeyWanted";

interface RegistriesProps {
  registries: readonly RegistryView[];
  onChange: (registries: readonly RegistryView[]) => void;
  onBack: () => void;
}

/** How much of a registry is here, and from when. */
function copyWords({ servers, copiedAt }: RegistryView): string {
  if (copiedAt === null) return "Copied at the first search";
  return `${counted(servers, "server")}, copied ${moment(copiedAt)}`;
}

interface RowProps {
  registry: RegistryView;
  onList: (list: RegistryList) => void;
  onProblem: (problem: string) => void;
}

function Row({ registry, onList, onProblem }: RowProps) {
  const { id, name, url, kind, own, hasKey, problem } = registry;
  const change = (list: Promise<RegistryList>) => void list.then(onList, (error: unknown) => onProblem(errorText(error)));
  return (
    <li className={classes.registryRow} aria-label={name}>
      <div className={classes.registryWords}>
        <strong>{name}</strong>
        <Plain text={url} />
        <span className={dialogs.quiet}>{copyWords(registry)}</span>
        {problem && <span className={classes.refused}>{problem}</span>}
        {kind === "smithery" && !hasKey && <KeyWanted registry={registry} onKept={onList} />}
        {hasKey && (
          <span className={dialogs.quiet}>
            Its key is kept.{" "}
            <Button size="compact-xs" variant="default" onClick={() => change(finding.setRegistryKey(id, null))}>
              Forget the key
            </Button>
          </span>
        )}
      </div>
      {own && (
        <ActionIcon aria-label={`Remove ${name}`} onClick={() => change(finding.removeRegistry(id))}>
          <CloseIcon size={15} />
        </ActionIcon>
      )}
    </li>
  );
}

/** Where servers are searched for: the known registries, and those that the person adds. */
export function Registries({ registries, onChange, onBack }: RegistriesProps) {
  const [url, setUrl] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const take = (list: RegistryList) => {
    setProblem("");
    onChange(list.registries);
  };
  const add = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    finding
      .addRegistry(url.trim(), "")
      .then(
        (list) => {
          take(list);
          setUrl("");
        },
        (error: unknown) => setProblem(errorText(error)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <div className={dialogs.stack}>
      <p className="ph-lead">A search asks a copy on this machine, which is brought up to date from the registry.</p>
      <ul className={classes.registries}>
        {registries.map((registry) => (
          <Row key={registry.id} registry={registry} onList={take} onProblem={setProblem} />
        ))}
      </ul>
      <form onSubmit={add} className={classes.addRegistry} noValidate>
        <TextInput
          className={classes.field}
          label="Another registry"
          description="One with the API of the official registry, such as a company’s own."
          placeholder="https://registry.example.com"
          spellCheck={false}
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" loading={isBusy} disabled={!url.trim()}>
          Add it
        </Button>
      </form>
      <DialogFoot problem={problem}>
        <Button data-autofocus onClick={onBack}>
          Done
        </Button>
      </DialogFoot>
    </div>
  );
}

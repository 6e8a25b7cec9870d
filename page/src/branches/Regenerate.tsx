import { ActionIcon, Menu } from "@mantine/core";
import { useRef, useState } from "react";
import { newKey } from "../composer/drafts";
import { RetryIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { Tip } from "../shell/Tip";
import type { ConversationState } from "../store/conversation";
import { useApp, useGetState } from "../store/store";
import classes from "./Branches.module.css";
import { regenerateAsked } from "./regenerating";
import { TemperatureDialog } from "./TemperatureDialog";

/** Return the model that answered in a run, or else the one that was to; "" where that is not known. */
export function answeredBy(open: ConversationState | null, runId: string): string {
  for (const id of [...(open?.order ?? [])].reverse()) {
    const item = open?.items.get(id);
    if (item?.runId === runId && item.kind === "response" && item.data.model) return item.data.model;
  }
  return open?.runs.get(runId)?.options.modelId ?? "";
}

/** Return why a model cannot answer again: it is not among those that there are. "" where it can, or is not known. */
export function goneWords(models: readonly { id: string }[], model: string): string {
  // A script that a command line named is in no list.
  if (!model || model.startsWith("scripted:") || models.some(({ id }) => id === model)) return "";
  return `“${model}” is not among your models any more`;
}

interface WaysProps {
  runId: string;
  onChosen: (modelId: string | null) => void;
  onTemperature: () => void;
}

/** The ways to another answer. Only drawn while the menu is open: what answered is looked for then. */
function Ways({ runId, onChosen, onTemperature }: WaysProps) {
  const models = useApp((state) => state.models.models);
  const model = useApp((state) => answeredBy(state.open, runId));
  const same = models.find(({ id }) => id === model);
  const gone = goneWords(models, model);
  const others = models.filter(({ id }) => id !== same?.id);
  return (
    <>
      <Menu.Item disabled={gone !== ""} onClick={() => onChosen(same?.id ?? null)}>
        With the same model
        {(gone || same) && <div className="ph-menu-note">{gone || same?.name}</div>}
      </Menu.Item>
      <Menu.Item disabled={gone !== ""} onClick={onTemperature}>
        At another temperature…
      </Menu.Item>
      {others.length > 0 && (
        <>
          <Menu.Divider />
          <Menu.Label>With another model</Menu.Label>
          <div className={classes.models}>
            {others.map(({ id, name }) => (
              <Menu.Item key={id} className={classes.model ?? ""} onClick={() => onChosen(id)}>
                {name}
              </Menu.Item>
            ))}
          </div>
        </>
      )}
    </>
  );
}

/** Asks for another answer to a message: by the same model, by another one, at another temperature. */
export function Regenerate({ runId }: { runId: string }) {
  const now = useGetState();
  const [isAsking, setAsking] = useState(false);
  const [isOpen, setOpen] = useState(false);
  // A menu that is opened makes one answer; while it closes it can still be pressed.
  const key = useRef<string | null>(null);
  const again = async (modelId: string | null, temperature: number | null = null) => {
    if (!key.current) return;
    const wish = { modelId, temperature, key: key.current };
    key.current = null;
    await regenerateAsked(runId, wish).catch(tell);
  };
  const atTemperature = (temperature: number) => {
    const { open, models } = now();
    const model = answeredBy(open, runId);
    setAsking(false);
    void again(models.models.some(({ id }) => id === model) ? model : null, temperature);
  };
  return (
    <>
      <Menu position="bottom-start" width={260} opened={isOpen} onChange={setOpen} onOpen={() => (key.current = newKey())}>
        <Tip label="Regenerate" isQuiet={isOpen}>
          <Menu.Target>
            <ActionIcon size="sm" aria-label="Regenerate">
              <RetryIcon size={15} />
            </ActionIcon>
          </Menu.Target>
        </Tip>
        <Menu.Dropdown>
          <Ways runId={runId} onChosen={(modelId) => void again(modelId)} onTemperature={() => setAsking(true)} />
        </Menu.Dropdown>
      </Menu>
      <TemperatureDialog opened={isAsking} onClose={() => setAsking(false)} onChosen={atTemperature} />
    </>
  );
}

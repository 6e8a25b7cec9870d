import { ActionIcon, Badge, Button, Tooltip } from "@mantine/core";
import { useRef, useState } from "react";
import { api, errorText } from "../api/client";
import type { ModelTest, ModelView } from "../api/types";
import { PencilIcon, TrashIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { changeModels } from "./actions";
import { Confirm } from "./Confirm";
import { KeyLine } from "./KeyLine";
import { Learned } from "./Learned";
import { providerOf } from "./providers";
import classes from "./Settings.module.css";
import { ASKING, TestResult } from "./TestResult";

/** Return the second line of a card: "api.deepseek.com • 128K context • Thinking ✓ • $3 in, $15 out per 1M tokens". */
export function factsOf(model: ModelView): string {
  const facts = [
    model.host || providerOf(model.service || model.provider).name,
    model.contextLabel,
    model.supportsThinking && "Thinking ✓",
    model.supportsImages && "Images ✓",
    model.priceLabel,
  ];
  return facts.filter(Boolean).join(" • ");
}

function DeleteButton({ model, onDeleted }: { model: ModelView; onDeleted: () => void }) {
  const remove = () => changeModels(api.removeModel(model.id)).then(onDeleted);
  if (model.isDefault) {
    const why = "This is the default. Make another model the default to delete it.";
    return (
      <Tooltip label={why} multiline maw={240}>
        <ActionIcon aria-label={`Delete ${model.name}: ${why}`} aria-disabled data-disabled className={classes.unusable}>
          <TrashIcon size={16} />
        </ActionIcon>
      </Tooltip>
    );
  }
  const question = `Delete “${model.name}”?${model.key.kind === "secret" ? " Its stored key is deleted too." : ""}`;
  return (
    <Confirm question={question} action="Delete" onConfirm={remove}>
      {(ask) => (
        <ActionIcon aria-label={`Delete ${model.name}`} onClick={ask}>
          <TrashIcon size={16} />
        </ActionIcon>
      )}
    </Confirm>
  );
}

function useTest(id: string): { isTesting: boolean; result: ModelTest | null; test: () => void } {
  const [isTesting, setTesting] = useState(false);
  const [result, setResult] = useState<ModelTest | null>(null);
  const test = () => {
    setTesting(true);
    setResult(null);
    api
      .testModel(id)
      .catch((error: unknown) => ({ ok: false, message: errorText(error), firstTokenMs: null, totalMs: null }))
      .then(setResult)
      .finally(() => setTesting(false));
  };
  return { isTesting, result, test };
}

interface ModelCardProps {
  model: ModelView;
  onEdit: () => void;
  onDeleted: () => void;
}

/** One model: what it is, where its key comes from, and what can be done with it. */
export function ModelCard({ model, onEdit, onDeleted }: ModelCardProps) {
  const card = useRef<HTMLLIElement>(null);
  const { isTesting, result, test } = useTest(model.id);
  const makeDefault = () => {
    // The button goes away with the click; the focus stays on the card.
    changeModels(api.setDefaultModel(model.id))
      .then(() => card.current?.focus())
      .catch(tell);
  };
  return (
    <li ref={card} tabIndex={-1} className={classes.card} aria-label={model.name} data-model={model.id}>
      <div className={classes.cardHead}>
        <h3 className={classes.cardName}>{model.name}</h3>
        {model.isDefault && (
          <Badge size="sm" variant="light" className={classes.badge}>
            Default
          </Badge>
        )}
        <span className="ph-space" />
        <ActionIcon aria-label={`Edit ${model.name}`} onClick={onEdit}>
          <PencilIcon size={16} />
        </ActionIcon>
        <DeleteButton model={model} onDeleted={onDeleted} />
      </div>
      <p className={classes.facts}>{factsOf(model)}</p>
      {model.model && model.model !== model.name && <p className={classes.modelId}>{model.model}</p>}
      {model.factsFrom && <p className={classes.known}>As known from {model.factsFrom}</p>}
      {model.note && <p className={classes.note}>{model.note}</p>}
      <KeyLine model={model} />
      {/* The button goes away with the click; the focus stays on the card. */}
      <Learned model={model} onForgotten={() => card.current?.focus()} />
      <div className={classes.cardActions}>
        <Button size="compact-sm" variant="default" loading={isTesting} onClick={test} aria-label={`Test ${model.name}`}>
          Test
        </Button>
        {!model.isDefault && (
          <Button
            size="compact-sm"
            variant="default"
            onClick={makeDefault}
            aria-label={`Set as Default: ${model.name}`}
          >
            Set as Default
          </Button>
        )}
        <TestResult doing={isTesting ? ASKING : ""} result={result} />
      </div>
    </li>
  );
}
